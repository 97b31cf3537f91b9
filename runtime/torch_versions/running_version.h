// The version of the torch that the process runs on. A build is for a minor version, and runs on each of its
// patch versions.
#pragma once

#include <string>

namespace rematlas {

/// "2.11.0"; where torch's Python package is not around its libraries, the version that was compiled
/// against.
const std::string& running_torch_version();

/// "2.11" of "2.11.0".
std::string minor_torch_version(const std::string& version);

}  // namespace rematlas
