// The devices of a process that trains. Each device is opened once.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

/// Stands between the device profile and the host profile in the name of a device that is absent.
inline constexpr char host_separator = '\n';

/// `name`: "cpu", "cuda:1", "meta:h100", or "meta:h100\ndesktop" where the host is not the one that such
/// devices mostly have. Errors: throws a c10::Error of one line.
std::shared_ptr<DeviceRuntime> open_device_named(const std::string& name);

}  // namespace rematlas
