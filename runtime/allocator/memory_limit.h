// Who makes room before memory is taken: asked by the allocators of tensors.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

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
    /// Where the allocator's own pointer is, if it is hidden in one of the room maker's.
    virtual const c10::DataPtr& behind(const c10::DataPtr& pointer) const = 0;
};

class MemoryLimit {
  public:
    /// Returns who was asked until now. Null: nobody is asked. `maker` stays valid until another is set and all calls under way have returned.
    static RoomMaker* set(RoomMaker* maker);
    /// Null where that memory is not limited.
    static RoomMaker* maker(int memory);
};

}  // namespace rematlas
