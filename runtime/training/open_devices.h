// The devices of a process that trains, each opened once.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

/// "cpu", "cuda:1". Throws c10::Error of one line.
std::shared_ptr<DeviceRuntime> open_device_named(const std::string& name);

}  // namespace rematlas
