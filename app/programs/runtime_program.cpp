#include "app/programs/runtime_program.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "rematlas-runtime";

bool can_run(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// Returns torch's version, for example "2.11", from the metadata in a folder of installed Python packages;
/// empty if torch is not installed there.
std::string minor_version_of_torch(const fs::path& packages) {
    constexpr std::string_view prefix = "torch-";
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(packages, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix) || !name.ends_with(".dist-info")) continue;
        const std::size_t major = name.find('.', prefix.size());
        const std::size_t minor = name.find_first_not_of("0123456789", major + 1);
        return name.substr(prefix.size(), minor - prefix.size());
    }
    return {};
}

/// Returns the runtime program in the Python environment whose folder of programs is `bin`; empty if there is
/// none. The package has one runtime program for each version of torch.
fs::path of_python_package(const fs::path& bin) {
    std::error_code ignored;
    for (const auto& version : fs::directory_iterator(bin / ".." / "lib", ignored)) {
        if (!version.path().filename().string().starts_with("python3")) continue;
        for (const char* folder : {"site-packages", "dist-packages"}) {
            const fs::path packages = version.path() / folder;
            const std::string torch = "torch" + minor_version_of_torch(packages);
            const fs::path program = packages / "rematlas" / "bin" / torch / kProgram;
            if (can_run(program)) return program.lexically_normal();
        }
    }
    return {};
}

std::vector<fs::path> folders_of_programs() {
    std::vector<fs::path> folders;
    if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active)
        folders.push_back(fs::path(active) / "bin");
    const char* set = std::getenv("PATH");
    std::istringstream path(set ? set : "");
    for (std::string folder; std::getline(path, folder, ':');)
        if (!folder.empty()) folders.push_back(folder);
    return folders;
}

}  // namespace

fs::path find_runtime_program() {
    if (const char* set = std::getenv("REMATLAS_RUNTIME"); set && *set) return set;
    std::error_code ignored;
    const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / kProgram;
    if (can_run(beside)) return beside;
    for (const fs::path& folder : folders_of_programs())
        if (const fs::path found = of_python_package(folder); !found.empty()) return found;
    return {};
}

}  // namespace rematlas
