// What recorded, compared and planned steps ask of an online eviction that is in force around them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <vector>

#include "runtime/allocator/memory_limit.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Null where there is none.
RoomMaker* eviction_on(const DeviceRuntime& device);

/// Counts the memory of the device as it would be without eviction.
MemoryMeter& memory_without_eviction(DeviceRuntime& device);

/// The same for longer than a call: the eviction may end or another begin meanwhile, also by a garbage
/// collection that a step is interrupted by. Whoever goes on then asks `changed`.
class MemoryWithoutEviction final : public MemoryMeter {
  public:
    explicit MemoryWithoutEviction(DeviceRuntime& device) : device_(device) { follow(); }
    /// The eviction that is in force from here on is the one.
    void follow();
    bool evicts() const { return evicts_; }
    /// The eviction is another one than at `follow`.
    bool changed() const;

    std::int64_t alive_bytes() const override { return memory_without_eviction(device_).alive_bytes(); }
    std::int64_t peak_bytes() const override { return memory_without_eviction(device_).peak_bytes(); }
    void reset_peak() override { memory_without_eviction(device_).reset_peak(); }

  private:
    DeviceRuntime& device_;
    bool evicts_ = false;
    std::uint64_t changes_ = 0;
};

/// Until the end of the scope ops of this thread are not the program's: nothing that they make is evicted.
/// What they read is there.
class NotEvicted {
  public:
    /// `who`: whose ops they are, for messages.
    NotEvicted(const DeviceRuntime& device, const std::vector<at::Tensor>& read, const char* who);

  private:
    c10::impl::ExcludeDispatchKeyGuard unseen_;
    std::shared_ptr<void> held_;
};

}  // namespace rematlas
