#include "runtime/training/open_devices.h"

#include <map>
#include <mutex>

#include "runtime/shapes/shape_device.h"
#include "runtime/training/python_error.h"

namespace rematlas {

std::shared_ptr<DeviceRuntime> open_device_named(const std::string& name) {
    static std::map<std::string, std::shared_ptr<DeviceRuntime>> open;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::shared_ptr<DeviceRuntime>& device = open[name];
    if (device) return device;
    if (constexpr std::string_view absent = "meta:"; name.starts_with(absent)) {
        const std::size_t end = name.find('\n');
        DeviceProfile profile = or_throw(device_profile(name.substr(absent.size(), end - absent.size())));
        if (end != name.npos) profile.host = or_throw(host_profile(name.substr(end + 1)));
        return device = shape_device(std::move(profile));
    }
    return device = or_throw(open_device(name, {.own_process = false}));
}

}  // namespace rematlas
