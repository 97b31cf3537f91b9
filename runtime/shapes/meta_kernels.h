// Shape kernels for ops whose shapes libtorch knows in Python only (torch/_meta_registrations.py), or not
// at all. They follow the kernels of the device that the capture is for, because outputs may have another
// layout in memory on another device. They have a key of their own in the dispatcher: in a process with
// Python the Meta kernels are Python's, which give other strides here and there.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <string>

namespace rematlas {

/// Registers them with the dispatcher, once per process.
void register_meta_kernels();

/// The key of the kernel that gives the shapes of an op: Rematlas' kernel if there is one, else libtorch's
/// Meta kernel.
c10::DispatchKey shape_key(const c10::OperatorHandle& op);

/// The device whose kernels the Meta kernels follow, for the whole process.
void set_meta_target(c10::DeviceType target);

}  // namespace rematlas
