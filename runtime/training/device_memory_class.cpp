// Functions about memory that the Python package calls around the caller's steps. They are not registered as
// ops, because a dispatch mode of the caller would see ops.
#include "runtime/allocator/arena.h"
#include "runtime/training/bindings.h"

namespace rematlas {
namespace {

struct TorchDeviceMemory : torch::CustomClassHolder {};

/// Frees the memory of the device's idle arenas. An arena (the memory of a planned step) is idle between
/// steps if the caller holds no tensor in it.
void release_idle_arenas(const std::string& device) {
    const c10::Device of(device);
    Arena::give_way(of.is_cpu() ? the_host : of.index());
}

}  // namespace

void define_device_memory(torch::Library& library) {
    library.class_<TorchDeviceMemory>("DeviceMemory")
        .def_static("release_idle_arenas", &release_idle_arenas)
        // Returns the most bytes that all tensors took on the device since the last call of `take_step_peak`.
        .def_static("take_step_peak",
                    [](const std::string& device) { return open_device_named(device)->take_step_peak(); });
}

}  // namespace rematlas
