// Limits the memory of tensors. Before an allocator takes memory, it asks a room maker for room: bytes that
// the limit still allows.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/allocator/memory_meter.h"

namespace at {
class Tensor;
}

namespace rematlas {

class RoomMaker {
  public:
    virtual ~RoomMaker() = default;
    /// The device whose memory this object limits, as in ArenaMemory::device.
    virtual int memory() const = 0;
    /// Must be called before a thread takes `bytes` bytes. Frees other memory if necessary; throws if the
    /// bytes must not be taken.
    virtual void before_allocation(std::int64_t bytes) = 0;
    /// Must be called when the device had no memory for `bytes` bytes. Frees other memory, if possible as
    /// many bytes as are missing. Returns false if nothing is left to free. The allocator must hold no lock
    /// during the call.
    virtual bool give_way(std::int64_t bytes) = 0;
    /// Frees memory until the limit has room for `bytes` bytes, which will be taken in pieces. Returns
    /// nullopt if there is room. Otherwise returns a text that says how much is missing; the caller must then
    /// not take the bytes.
    virtual std::optional<std::string> make_room(std::int64_t bytes) = 0;
    /// If the room maker has replaced a storage's pointer by `pointer`, returns the allocator's pointer; else
    /// returns `pointer`.
    virtual const c10::DataPtr& behind(const c10::DataPtr& pointer) const = 0;
    /// Returns a meter of the bytes that would be alive if nothing had been freed to make room.
    virtual MemoryMeter& without_it() = 0;
    /// `hold` and `keep` make these tensors again if their memory was freed. Their memory is then no longer
    /// freed to make room: after `hold`, as long as the result of `hold` lives; after `keep`, for ever.
    /// `who`: the name that error messages give to the work that follows.
    virtual std::shared_ptr<void> hold(c10::ArrayRef<at::Tensor> tensors, const char* who) = 0;
    virtual void keep(c10::ArrayRef<at::Tensor> tensors) = 0;
    /// Must be called before something other than the program's ops changes the contents of these tensors.
    virtual void changes(c10::ArrayRef<at::Tensor> tensors) = 0;
};

class MemoryLimit {
  public:
    /// Makes `maker` the room maker that allocators ask. With null, allocators ask none. Returns the previous
    /// room maker. `maker` must stay valid until the next `set`, and until all calls of its functions have
    /// returned.
    static RoomMaker* set(RoomMaker* maker);
    /// Returns how often a room maker was set.
    static std::uint64_t changes();
    /// Returns the room maker of this memory, or null if this memory is not limited.
    static RoomMaker* maker(int memory);

    /// While an Attempt lives, the room maker refuses those requests of this thread for which there is no
    /// room; the caller can go on without the memory. For other threads the room maker may exceed its limit.
    class Attempt {
      public:
        Attempt();
        Attempt(const Attempt&) = delete;
        Attempt& operator=(const Attempt&) = delete;
        ~Attempt();
    };
    static bool is_attempt();
};

}  // namespace rematlas
