#pragma once

namespace simgpu {

/// Returns a function of the driver by its name, or null if the stand-in does not have it.
void* driver_function(const char* name);

}  // namespace simgpu
