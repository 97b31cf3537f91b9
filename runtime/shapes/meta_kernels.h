// Shape kernels for ops whose shapes libtorch knows in Python only (torch/_meta_registrations.py), or not at
// all. They follow the kernels of the device that is captured for, whose outputs may lie differently in
// memory than those of another one. They have a place of their own in the dispatcher: in a process with
// Python the Meta kernels are Python's, which say something else of strides here and there.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <string>

namespace rematlas {

/// Registers them with the dispatcher, once per process.
void register_meta_kernels();

/// Whom to ask for the shapes of an op: our kernel where there is one, else libtorch's Meta kernel.
c10::DispatchKey shape_key(const c10::OperatorHandle& op);

/// The device whose kernels the Meta kernels follow, for the whole process.
void set_meta_target(c10::DeviceType target);

}  // namespace rematlas
