// Tells which optional libraries this build has.
#pragma once

#include <string>
#include <vector>

namespace rematlas {

struct OptionalLibrary {
    std::string name;
    bool is_there = false;
    std::string serves;  ///< what does not work without it
};

std::vector<OptionalLibrary> optional_libraries();

/// "GCC 12.2.0, Release"
std::string compiler_of_build();

/// What `rematlas --version` prints: the version on the first line, then what was built in.
std::string version_text();

}  // namespace rematlas
