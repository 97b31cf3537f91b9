#include "runtime/training/within_eviction.h"

#include "runtime/torch_versions/own_key.h"

namespace rematlas {

RoomMaker* eviction_on(const DeviceRuntime& device) {
    return MemoryLimit::maker(device.device().is_cpu() ? the_host : device.device().index());
}

MemoryMeter& memory_without_eviction(DeviceRuntime& device) {
    RoomMaker* eviction = eviction_on(device);
    return eviction ? eviction->without_it() : device;
}

void MemoryWithoutEviction::follow() {
    changes_ = MemoryLimit::changes();
    evicts_ = eviction_on(device_) != nullptr;
}

bool MemoryWithoutEviction::changed() const {
    return changes_ != MemoryLimit::changes() && (evicts_ || eviction_on(device_));
}

NotEvicted::NotEvicted(const DeviceRuntime& device, const std::vector<at::Tensor>& read, const char* who)
    : unseen_(own_key) {
    if (RoomMaker* eviction = eviction_on(device)) held_ = eviction->hold(read, who);
}

}  // namespace rematlas
