// The links between a device and the host, and the host memory that they copy to
// (runtime/transfers/copy_queues.h).
//
//     Result<std::unique_ptr<PinnedSlab>> slab = open_slab(*device, bytes);
//     Result<std::unique_ptr<CopyQueues>> copies = open_copies(*device);
#pragma once

#include <memory>

#include "runtime/device/device.h"
#include "runtime/transfers/copy_queues.h"

namespace rematlas {

/// On a GPU a stream each way, and one for ops of the host. The CPU stands in for a device with links: a thread
/// each way copies within its memory, and one runs ops. Errors: of CUDA.
Result<std::unique_ptr<CopyQueues>> open_copies(DeviceRuntime& device);
/// On a GPU pinned and mapped; on the CPU pages of the system, which the allocator of the device does not
/// count. Errors: no memory.
Result<std::unique_ptr<PinnedSlab>> open_slab(const DeviceRuntime& device, std::size_t bytes);

/// Memory of the slab as that of a storage, of the host or of the device: kernels of a GPU read and write it where
/// it lies, over the link. The slab lives as long as somebody holds it.
c10::DataPtr slab_memory(std::shared_ptr<PinnedSlab> slab, std::int64_t offset, c10::Device device);
/// Where on the host such memory is; null of other memory.
void* slab_address(const c10::DataPtr& memory);

}  // namespace rematlas
