// Shape kernels for ops whose shapes libtorch knows in Python only (torch/_meta_registrations.py), or not at
// all. They imitate the kernels of the device that the capture is for, because outputs may have another
// layout in memory on another device. They have their own key in the dispatcher: in a process with Python the
// Meta kernels are Python's, which sometimes give other strides.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

namespace rematlas {

/// Registers the shape kernels with the dispatcher. Only the first call in a process has an effect.
void register_meta_kernels();

/// Returns the key of the kernel that computes the shapes of an op: Rematlas' kernel if there is one, else
/// libtorch's Meta kernel.
c10::DispatchKey shape_key(const c10::OperatorHandle& op);

/// Sets the device whose kernels the Meta kernels imitate, for the whole process.
void set_meta_target(c10::DeviceType target);

}  // namespace rematlas
