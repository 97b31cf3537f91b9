// The version of torch that the process runs on. A build is made for a minor version, and runs on each of its
// patch versions.
#pragma once

#include <string>

namespace rematlas {

/// Returns the version, for example "2.11.0". If torch's Python package is not found around the loaded
/// libraries, returns the version that the build was compiled against.
const std::string& running_torch_version();

/// Returns "2.11" for "2.11.0".
std::string minor_torch_version(const std::string& version);

}  // namespace rematlas
