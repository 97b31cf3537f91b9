#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/numbers.h"
#include "runtime/device/copies.h"
#include "runtime/device/cuda/library.h"
#include "runtime/device/device.h"
#include "runtime/transfers/worker_copies.h"

namespace rematlas {
namespace {

Error no_cuda(std::string why) {
    why.resize(std::min(why.find('\n'), why.size()));
    return {"--device cuda: " + why};
}

/// Returns the index: -1 for "cuda", 1 for "cuda:1"; nullopt for other names.
std::optional<int> cuda_index(const std::string& name) {
    if (name == "cuda") return -1;
    if (!name.starts_with("cuda:")) return std::nullopt;
    const auto index = number_from<int>(std::string_view(name).substr(5));
    return index && *index >= 0 ? index : std::nullopt;
}

/// Returns the folder of the program, or of Rematlas' library if another program has loaded it.
std::filesystem::path own_folder() {
    std::error_code failure;
    Dl_info here{};
    if (dladdr(reinterpret_cast<void*>(&own_folder), &here) && here.dli_fname &&
        std::filesystem::path(here.dli_fname).extension() == ".so")
        return std::filesystem::absolute(here.dli_fname, failure).parent_path();
    return std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
}

Result<std::unique_ptr<DeviceRuntime>> open_cuda(int index, const DeviceOptions& options) {
    const auto library = own_folder() / cuda_library_name;
    if (!std::filesystem::exists(library))
        return no_cuda("this build has no CUDA; it needs a CUDA toolkit and a torch wheel with CUDA");
    // cuBLAS reads the variable when its context is made. Without this setting, cuBLAS may sum in any order.
    if (options.own_process) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
    // The library is never closed, because kernels register themselves with the dispatcher permanently.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!handle) return no_cuda(dlerror());
    const auto open = reinterpret_cast<decltype(&rematlas_open_cuda)>(dlsym(handle, cuda_library_symbol));
    if (!open) return no_cuda(dlerror());
    std::string why_not;
    const StepMemoryCalls calls = step_memory_calls();
    std::unique_ptr<DeviceRuntime> device(open(index, &options, cpu_runtime().release(), &calls, &why_not));
    if (!device) return no_cuda(why_not);
    return device;
}

/// Makes an object by calling a function of type `Make` in the library that opened the device.
template <class Make, class... Arguments>
auto made_by_library(const char* symbol, Arguments... arguments) -> Result<
    std::unique_ptr<std::remove_pointer_t<std::invoke_result_t<Make, Arguments..., std::string*>>>> {
    void* handle = dlopen((own_folder() / cuda_library_name).c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto make = handle ? reinterpret_cast<Make>(dlsym(handle, symbol)) : nullptr;
    if (!make) return no_cuda(dlerror());
    std::string why_not;
    std::unique_ptr<std::remove_pointer_t<decltype(make(arguments..., nullptr))>> made(
        make(arguments..., &why_not));
    if (!made) return no_cuda(why_not);
    return made;
}

}  // namespace

Result<std::unique_ptr<CopyQueues>> open_copies(DeviceRuntime& device) {
    if (device.device().is_cpu()) return worker_copies();
    return made_by_library<decltype(&rematlas_open_copies)>(cuda_copies_symbol, &device);
}

Result<std::unique_ptr<PinnedSlab>> open_slab(const DeviceRuntime& device, std::size_t bytes) {
    if (device.device().is_cuda())
        return made_by_library<decltype(&rematlas_open_slab)>(cuda_slab_symbol, int(device.device().index()),
                                                              bytes);
    std::unique_ptr<PinnedSlab> slab = mapped_slab(bytes);
    if (!slab)
        return Error{
            "no " + std::to_string(bytes) + " bytes of host memory for copies: let fewer bytes move there",
            ErrorKind::failure};
    return slab;
}

static void let_go_of_slab(void* owner) {
    delete static_cast<std::shared_ptr<PinnedSlab>*>(owner);
}

c10::DataPtr slab_memory(std::shared_ptr<PinnedSlab> slab, std::int64_t offset, c10::Device device) {
    void* data = static_cast<char*>(device.is_cpu() ? slab->data() : slab->device_data()) + offset;
    return {data, new std::shared_ptr<PinnedSlab>(std::move(slab)), &let_go_of_slab, device};
}

void* slab_address(const c10::DataPtr& memory) {
    if (memory.get_deleter() != &let_go_of_slab) return nullptr;
    const PinnedSlab& slab = **static_cast<std::shared_ptr<PinnedSlab>*>(memory.get_context());
    const void* begin = memory.device().is_cpu() ? slab.data() : slab.device_data();
    return static_cast<char*>(slab.data()) +
           (static_cast<const char*>(memory.get()) - static_cast<const char*>(begin));
}

Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name, const DeviceOptions& options) {
    if (name == "cpu") return cpu_runtime();
    if (const auto index = cuda_index(name)) return open_cuda(*index, options);
    return Error{"--device " + name + ": expected cpu, cuda or cuda:1"};
}

}  // namespace rematlas
