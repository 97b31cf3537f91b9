#pragma once

namespace simgpu {

/// A function of the driver by its name; null: the stand-in has none.
void* driver_function(const char* name);

}  // namespace simgpu
