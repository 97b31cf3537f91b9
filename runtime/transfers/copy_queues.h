// The queues that work beside a device: one for copies to host memory, one for copies back, and one for ops
// that run on the host. A mark lets one queue wait for the work of another.
//
//     auto copies = open_copies(*device).take();             // runtime/device/copies.h
//     const Mark made = copies->mark(CopyQueue::compute);    // after the work submitted so far
//     copies->wait(CopyQueue::out, made);
//     copies->copy_out(slab->data(), tensor, bytes);
//     const Mark gone = copies->mark(CopyQueue::out);
//     copies->wait(CopyQueue::compute, gone);                // before the tensor's memory is used again
//
// Only `synchronize` waits for the device. Before memory is given back to an allocator, or the slab is read,
// the program must have waited for the copies that use this memory: the allocator knows only the compute
// stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace rematlas {

/// compute: work that the calling thread submits; in: copies to the device; out: copies to the host; host:
/// ops that run on the host.
enum class CopyQueue : std::uint8_t { compute, in, out, host };
constexpr std::size_t copy_queue_count = 4;

/// A point in a queue's work. A mark is valid until it is released; released marks are used again.
enum class Mark : std::int32_t {};

class CopyQueues {
  public:
    virtual ~CopyQueues() = default;
    virtual void copy_out(void* host, const void* device, std::size_t bytes) = 0;  ///< copies in the queue
                                                                                   ///< `out`
    virtual void copy_in(void* device, const void* host, std::size_t bytes) = 0;   ///< copies in the queue
                                                                                   ///< `in`
    /// Runs work in the queue `host`: on another thread, one piece after the other. The work must not throw,
    /// and must not call the device.
    virtual void run(std::function<void()> work) = 0;
    virtual Mark mark(CopyQueue queue) = 0;
    /// Work that the queue is given from now on begins when the mark is reached.
    virtual void wait(CopyQueue queue, Mark mark) = 0;
    virtual void release(Mark mark) = 0;
    /// Waits for all work that the queue was given.
    virtual void synchronize(CopyQueue queue) = 0;
};

/// Host memory that the device reads and writes directly, without a copy by the driver. It is mapped and
/// registered in one piece, so its size is not rounded up to a power of two, unlike libtorch's pinned
/// memory.
class PinnedSlab {
  public:
    virtual ~PinnedSlab() = default;
    virtual void* data() const = 0;
    virtual std::size_t bytes() const = 0;
    /// Returns the address at which kernels of the device find the same bytes.
    virtual void* device_data() const { return data(); }
};

}  // namespace rematlas
