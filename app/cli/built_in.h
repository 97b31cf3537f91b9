// Says which optional libraries this build has.
#pragma once

#include <string>
#include <vector>

namespace rematlas {

struct OptionalLibrary {
    std::string name;
    bool is_there = false;
    std::string serves;  ///< the features that need the library, in words for users
};

std::vector<OptionalLibrary> optional_libraries();

/// Returns for example "GCC 12.2.0, Release".
std::string compiler_of_build();

/// Returns the text of `rematlas --version`: the version on the first line, then the optional libraries of
/// this build.
std::string version_text();

}  // namespace rematlas
