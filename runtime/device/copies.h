// Copies between a device and the host, and the host memory that they use (runtime/transfers/copy_queues.h).
//
//     Result<std::unique_ptr<PinnedSlab>> slab = open_slab(*device, bytes);
//     Result<std::unique_ptr<CopyQueues>> copies = open_copies(*device);
#pragma once

#include <memory>

#include "runtime/device/device.h"
#include "runtime/transfers/copy_queues.h"

namespace rematlas {

/// Opens the queues for copies. On a GPU there is a stream for each direction, and a stream for host runs.
/// The CPU imitates a device with links: one thread for each direction copies within host memory, and one
/// thread does the host runs. Fails with CUDA's errors.
Result<std::unique_ptr<CopyQueues>> open_copies(DeviceRuntime& device);
/// Allocates host memory for copies. On a GPU this memory is pinned and mapped; on the CPU it consists of
/// pages of the system, which the device's allocator does not count. Fails if there is no memory.
Result<std::unique_ptr<PinnedSlab>> open_slab(const DeviceRuntime& device, std::size_t bytes);

/// Returns the slab's bytes from `offset` on as memory for a storage of `device`. `device` can be the host.
/// Kernels of a GPU read and write this memory over the link. The pointer keeps the slab alive.
c10::DataPtr slab_memory(std::shared_ptr<PinnedSlab> slab, std::int64_t offset, c10::Device device);
/// Returns the host address of memory from `slab_memory`, or null for other memory.
void* slab_address(const c10::DataPtr& memory);

}  // namespace rematlas
