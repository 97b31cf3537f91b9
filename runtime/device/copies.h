// The links between a device and the host, and the host memory that they copy to (runtime/transfers/copy_lanes.h).
//
//     Result<std::unique_ptr<PinnedSlab>> slab = open_slab(*device, bytes);
//     Result<std::unique_ptr<CopyLanes>> copies = open_copies(*device);
#pragma once

#include <memory>

#include "runtime/device/device.h"
#include "runtime/transfers/copy_lanes.h"

namespace rematlas {

/// On a GPU a stream each way. The CPU stands in for a device with links: a thread each way copies within its
/// memory. Errors: of CUDA.
Result<std::unique_ptr<CopyLanes>> open_copies(DeviceRuntime& device);
/// On a GPU pinned; on the CPU pages of the system, which the allocator of the device does not count. Errors:
/// no memory.
Result<std::unique_ptr<PinnedSlab>> open_slab(const DeviceRuntime& device, std::size_t bytes);

}  // namespace rematlas
