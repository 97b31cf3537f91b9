// The version of torch on which the process runs. A build is for a minor version, and runs on each of its
// patch versions.
#pragma once

#include <string>

namespace rematlas {

/// For example "2.11.0". If torch's Python package does not surround its libraries, it is the version that
/// the build was compiled against.
const std::string& running_torch_version();

/// "2.11" of "2.11.0".
std::string minor_torch_version(const std::string& version);

}  // namespace rematlas
