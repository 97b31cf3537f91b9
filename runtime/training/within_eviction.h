// How recorded, compared and planned steps deal with an online eviction that is in force around them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <vector>

#include "runtime/allocator/memory_limit.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Returns the eviction that is in force on the device; null if there is none.
RoomMaker* eviction_on(const DeviceRuntime& device);

/// Returns the meter that counts the memory of the device as it would be without eviction.
MemoryMeter& memory_without_eviction(DeviceRuntime& device);

/// The meter of `memory_without_eviction`, for use over several calls. Between these calls the eviction may
/// end or another one may begin, even in a garbage collection that interrupts a step. The user of the meter
/// must then ask `changed`.
class MemoryWithoutEviction final : public MemoryMeter {
  public:
    explicit MemoryWithoutEviction(DeviceRuntime& device) : device_(device) { follow(); }
    /// Notes which eviction is in force now, for `changed`.
    void follow();
    bool evicts() const { return evicts_; }
    /// Says whether another eviction is in force than at the last call of `follow`.
    bool changed() const;

    std::int64_t alive_bytes() const override { return memory_without_eviction(device_).alive_bytes(); }
    std::int64_t peak_bytes() const override { return memory_without_eviction(device_).peak_bytes(); }
    void reset_peak() override { memory_without_eviction(device_).reset_peak(); }

  private:
    DeviceRuntime& device_;
    bool evicts_ = false;
    std::uint64_t changes_ = 0;
};

/// Until the end of the scope, the eviction does not count the ops of this thread as the program's. The
/// tensors that these ops make are not evicted, and the tensors that they read are present.
class NotEvicted {
  public:
    /// `read`: the tensors that the ops read. `who`: the name of the ops' owner in messages.
    NotEvicted(const DeviceRuntime& device, const std::vector<at::Tensor>& read, const char* who);

  private:
    c10::impl::ExcludeDispatchKeyGuard unseen_;
    std::shared_ptr<void> held_;
};

}  // namespace rematlas
