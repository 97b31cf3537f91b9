// Returns the device of a profile. It has a name, a type and the rules of an allocator, but no memory and no
// clock.
#pragma once

#include "core/costs/device_profile.h"
#include "runtime/device/device.h"

namespace rematlas {

std::unique_ptr<DeviceRuntime> shape_device(const DeviceProfile& profile);

}  // namespace rematlas
