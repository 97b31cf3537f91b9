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
