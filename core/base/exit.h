// The exit statuses of the commands of `rematlas` and `rematlas-runtime`.
#pragma once

namespace rematlas {

enum class Exit {
    success = 0,
    negative = 1,     ///< the question was well-formed and the answer is no
    wrong_input = 2,  ///< a file, a flag or a value is wrong, or something failed half way
};

}  // namespace rematlas
