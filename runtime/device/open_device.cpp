#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/device/cuda_library.h"
#include "runtime/device/device.h"

namespace rematlas {
namespace {

Error no_cuda(std::string why) {
    why.resize(std::min(why.find('\n'), why.size()));
    return {"--device cuda: " + why};
}

/// Of the program, or of the library that a program of somebody else's has loaded.
std::filesystem::path own_folder() {
    std::error_code failure;
    Dl_info here{};
    if (dladdr(reinterpret_cast<void*>(&own_folder), &here) && here.dli_fname &&
        std::filesystem::path(here.dli_fname).extension() == ".so")
        return std::filesystem::absolute(here.dli_fname, failure).parent_path();
    return std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
}

Result<std::unique_ptr<DeviceRuntime>> open_cuda(const DeviceOptions& options) {
    const auto library = own_folder() / cuda_library_name;
    if (!std::filesystem::exists(library))
        return no_cuda("this build has no CUDA; it needs a CUDA toolkit and a torch wheel with CUDA");
    // Read when the context is made; without it cuBLAS may sum in any order.
    if (options.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
    // Stays open: kernels register themselves with the dispatcher for good.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!handle) return no_cuda(dlerror());
    const auto open = reinterpret_cast<decltype(&rematlas_open_cuda)>(dlsym(handle, cuda_library_symbol));
    if (!open) return no_cuda(dlerror());
    std::string why_not;
    std::unique_ptr<DeviceRuntime> device(open(&options, &why_not));
    if (!device) return no_cuda(why_not);
    return device;
}

}  // namespace

Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name, const DeviceOptions& options) {
    if (name == "cpu") return cpu_runtime();
    if (name == "cuda") return open_cuda(options);
    return Error{"--device " + name + ": expected cpu or cuda"};
}

}  // namespace rematlas
