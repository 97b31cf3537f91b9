// The Python package asks these functions about memory around the caller's steps. They are no ops, because a
// dispatch mode of the caller's would see ops.
#include "runtime/allocator/arena.h"
#include "runtime/training/bindings.h"

namespace rematlas {
namespace {

struct TorchDeviceMemory : torch::CustomClassHolder {};

/// Arenas of planned steps of which nothing is held give their memory back.
void release_idle_arenas(const std::string& device) {
    const c10::Device of(device);
    Arena::give_way(of.is_cpu() ? the_host : of.index());
}

}  // namespace

void define_device_memory(torch::Library& library) {
    library.class_<TorchDeviceMemory>("DeviceMemory")
        .def_static("release_idle_arenas", &release_idle_arenas)
        // Bytes of all tensors on the device: the most since the last call of this.
        .def_static("take_step_peak",
                    [](const std::string& device) { return open_device_named(device)->take_step_peak(); });
}

}  // namespace rematlas
