// Who makes room before memory is taken: asked by the allocators of tensors.
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
    /// Whose memory it watches: ArenaMemory::device.
    virtual int memory() const = 0;
    /// So many bytes are about to be taken, by any thread. May free others; throws where they must not be
    /// taken.
    virtual void before_allocation(std::int64_t bytes) = 0;
    /// The device had no memory for so many. Frees others, and as many if it can; false: there is nothing
    /// left to free. The allocator holds no lock.
    virtual bool give_way(std::int64_t bytes) = 0;
    /// So many bytes will be taken, in pieces. Nothing: there is room for them; else what is missing, and the caller
    /// does without.
    virtual std::optional<std::string> make_room(std::int64_t bytes) = 0;
    /// Where the allocator's own pointer is, if it is hidden in one of the room maker's.
    virtual const c10::DataPtr& behind(const c10::DataPtr& pointer) const = 0;
    /// Counts the bytes that would be alive if nothing had been freed to make room.
    virtual MemoryMeter& without_it() = 0;
    /// The memory of these tensors is there, and is not freed to make room: as long as somebody has what is
    /// returned, or for good. `who` needs what is taken from here on, in words.
    virtual std::shared_ptr<void> hold(c10::ArrayRef<at::Tensor> tensors, const char* who) = 0;
    virtual void keep(c10::ArrayRef<at::Tensor> tensors) = 0;
    /// Their contents are about to change, by others than the program's ops.
    virtual void changes(c10::ArrayRef<at::Tensor> tensors) = 0;
};

class MemoryLimit {
  public:
    /// Returns who was asked until now. Null: nobody is asked. `maker` stays valid until another is set and all calls under way have returned.
    static RoomMaker* set(RoomMaker* maker);
    /// How often another one was set.
    static std::uint64_t changes();
    /// Null where that memory is not limited.
    static RoomMaker* maker(int memory);

    /// While an Attempt lives, the room maker refuses its thread what there is no room for, and the caller
    /// does without. The room maker exceeds its limit for other threads alone.
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
