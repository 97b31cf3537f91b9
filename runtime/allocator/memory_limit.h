// Who makes room before memory is taken: asked by the allocators of tensors.
#pragma once

#include <cstdint>

namespace rematlas {

class RoomMaker {
  public:
    virtual ~RoomMaker() = default;
    /// So many bytes are about to be taken, by any thread. May free others; throws where they must not be
    /// taken.
    virtual void before_allocation(std::int64_t bytes) = 0;
};

class MemoryLimit {
  public:
    /// Null: nobody is asked. `maker` stays valid until another is set and all calls under way have returned.
    static void set(RoomMaker* maker);
    static RoomMaker* maker();
};

}  // namespace rematlas
