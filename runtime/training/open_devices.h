// The devices of a process that trains. Each device is opened once.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

/// Returns the device called `name`: "cpu", "cuda:1", "meta:h100", or "meta:h100\ndesktop" if the host is not
/// the usual one for such devices. Throws a c10::Error with one line.
std::shared_ptr<DeviceRuntime> open_device_named(const std::string& name);

}  // namespace rematlas
