// What a page is made for.
#pragma once

namespace rematlas {

enum class PageUse {
    file,    ///< it is opened from a disk, and calls nobody
    served,  ///< it comes from `rematlas serve`, and may call the server that it came from
};

}  // namespace rematlas
