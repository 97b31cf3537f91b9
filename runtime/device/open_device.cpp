#include "runtime/device/device.h"

namespace rematlas {

Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name) {
    if (name == "cpu") return cpu_runtime();
    return Error{"--device " + name + ": unknown device"};
}

}  // namespace rematlas
