// The devices of a process that trains, each opened once.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

/// Between the device profile and the host profile in the name of a device that is not there.
inline constexpr char host_separator = '\n';

/// "cpu", "cuda:1", "meta:h100", "meta:h100\ndesktop" where the host is another one than such devices mostly have. Throws c10::Error of one line.
std::shared_ptr<DeviceRuntime> open_device_named(const std::string& name);

}  // namespace rematlas
