#include "runtime/training/open_devices.h"

#include <c10/util/Exception.h>

#include <map>
#include <mutex>

#include "runtime/shapes/shape_device.h"

namespace rematlas {

std::shared_ptr<DeviceRuntime> open_device_named(const std::string& name) {
    static std::map<std::string, std::shared_ptr<DeviceRuntime>> open;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::shared_ptr<DeviceRuntime>& device = open[name];
    if (device) return device;
    if (constexpr std::string_view absent = "meta:"; name.starts_with(absent)) {
        const std::size_t end = name.find(host_separator);
        Result<DeviceProfile> profile = device_profile(name.substr(absent.size(), end - absent.size()));
        TORCH_CHECK(profile, "rematlas: ", profile.error().message);
        if (end != name.npos) {
            Result<HostProfile> host = host_profile(name.substr(end + 1));
            TORCH_CHECK(host, "rematlas: ", host.error().message);
            profile->host = host.take();
        }
        return device = shape_device(profile.take());
    }
    Result<std::unique_ptr<DeviceRuntime>> opened = open_device(name, {.own_process = false});
    TORCH_CHECK(opened, "rematlas: ", opened.error().message);
    device = opened.take();
    return device;
}

}  // namespace rematlas
