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

/// Opens the queues for copies. On a GPU they are a stream each way, and one for ops of the host. The CPU
/// stands in for a device with links: a thread each way copies within its memory, and one thread runs ops.
/// Errors: those of CUDA.
Result<std::unique_ptr<CopyQueues>> open_copies(DeviceRuntime& device);
/// Takes host memory for copies. On a GPU it is pinned and mapped; on the CPU it consists of pages of the
/// system, which the device's allocator does not count. Errors: no memory.
Result<std::unique_ptr<PinnedSlab>> open_slab(const DeviceRuntime& device, std::size_t bytes);

/// Presents memory of the slab as that of a storage, of the host or of the device. Kernels of a GPU read
/// and write it over the link. The slab lives as long as somebody holds the pointer.
c10::DataPtr slab_memory(std::shared_ptr<PinnedSlab> slab, std::int64_t offset, c10::Device device);
/// The address on the host of memory from `slab_memory`; null for other memory.
void* slab_address(const c10::DataPtr& memory);

}  // namespace rematlas
