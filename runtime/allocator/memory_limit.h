// The interface by which the allocators of tensors ask for room before they take memory.
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
    /// The memory that it watches, as in ArenaMemory::device.
    virtual int memory() const = 0;
    /// To be called before any thread takes so many bytes. May free other memory; throws if the bytes must
    /// not be taken.
    virtual void before_allocation(std::int64_t bytes) = 0;
    /// To be called when the device had no memory for so many bytes. Frees other memory, as many bytes as
    /// are missing if it can. False: nothing is left to free. The allocator holds no lock during the call.
    virtual bool give_way(std::int64_t bytes) = 0;
    /// Makes room for so many bytes, which will be taken in pieces. Returns nothing if there is room for
    /// them; else a text that tells what is missing, and the caller goes without them.
    virtual std::optional<std::string> make_room(std::int64_t bytes) = 0;
    /// The allocator's own pointer, if it is hidden in a pointer of the room maker; else `pointer`.
    virtual const c10::DataPtr& behind(const c10::DataPtr& pointer) const = 0;
    /// Counts the bytes that would be alive if nothing had been freed to make room.
    virtual MemoryMeter& without_it() = 0;
    /// Makes the memory of these tensors present, and does not free it to make room: `hold` as long as
    /// somebody has the result, `keep` for good. `who` names in messages the owner of the ops that run from
    /// here on.
    virtual std::shared_ptr<void> hold(c10::ArrayRef<at::Tensor> tensors, const char* who) = 0;
    virtual void keep(c10::ArrayRef<at::Tensor> tensors) = 0;
    /// Tells that something other than the program's ops is about to change the contents of these tensors.
    virtual void changes(c10::ArrayRef<at::Tensor> tensors) = 0;
};

class MemoryLimit {
  public:
    /// Sets the room maker that allocators ask; null: none. Returns the previous one. `maker` stays valid
    /// until another one is set and all calls under way have returned.
    static RoomMaker* set(RoomMaker* maker);
    /// How often a room maker was set.
    static std::uint64_t changes();
    /// The room maker of the memory; null if the memory is not limited.
    static RoomMaker* maker(int memory);

    /// While an Attempt lives, the room maker refuses requests of this thread for which there is no room,
    /// and the caller goes without. The room maker exceeds its limit only for other threads.
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
