#include "runtime/torch_versions/running_version.h"

#include <c10/core/CPUAllocator.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <filesystem>
#include <fstream>

namespace rematlas {
namespace {

/// Reads the version from version.py of the package whose libc10 is loaded. Returns nothing if there is no
/// such file.
std::string version_of_package() {
    Dl_info library{};
    if (!dladdr(reinterpret_cast<const void*>(&c10::GetCPUAllocator), &library)) return {};
    std::ifstream file(std::filesystem::path(library.dli_fname).parent_path().parent_path() / "version.py");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("__version__ =")) continue;
        const std::size_t first = line.find('\''), last = line.rfind('\'');
        if (first == std::string::npos || first == last) continue;
        const std::string version = line.substr(first + 1, last - first - 1);
        return version.substr(0, version.find('+'));  // "+cu130" only says how the package was built
    }
    return {};
}

}  // namespace

const std::string& running_torch_version() {
    static const std::string version = [] {
        const std::string found = version_of_package();
        return found.empty() ? std::string(TORCH_VERSION) : found;
    }();
    return version;
}

std::string minor_torch_version(const std::string& version) {
    const std::size_t major = version.find('.');
    return major == std::string::npos ? version : version.substr(0, version.find('.', major + 1));
}

}  // namespace rematlas
