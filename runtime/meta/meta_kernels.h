// Meta kernels for ops whose shapes libtorch knows in Python only (torch/_meta_registrations.py), or not at
// all. They follow the kernels of the device that is captured for, whose outputs may lie differently in
// memory than those of another one.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace rematlas {

/// Registers them with the dispatcher, once per process, where there is no Meta kernel yet.
void register_meta_kernels();

/// The device whose kernels the Meta kernels follow, for the whole process.
void set_meta_target(c10::DeviceType target);

}  // namespace rematlas
