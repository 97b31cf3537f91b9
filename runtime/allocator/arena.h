// One block of memory for a step that repeats. It serves the requests that an earlier run of the step logged,
// each at its planned address.
//
//     auto arena = Arena::create(requests, plan_requests(requests), host_memory());
//     if (arena->begin_step()) ...             // allocates the arena's memory if it has none
//     void* data = arena->take(bytes);         // null: the request is not as planned; ask the system
//     Arena::give_back(data);                  // from any thread, at any time; ignores other memory
//     arena->end_step();
//
// Memory that is still held is never handed out again: a request is served only after all earlier requests at
// the same bytes have been given back. A request deviates from the plan if its size differs, if the plan has
// no further request, or if memory that this step took at the same bytes is still held. After the first
// deviation the arena serves no request until the next step. Tensors that are still held when a step begins
// (results that the caller keeps) keep their bytes; only the requests that are planned at these bytes are
// refused. When a step begins, an arena without memory can take over the memory of another arena that is in
// no step and whose memory nobody holds. So the arenas of alternating steps share one block. Threads: one
// thread takes memory, any thread may give memory back. The memory is freed once the owner has retired the
// arena and all memory has been given back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/addresses/request_plan.h"
#include "runtime/allocator/arena_memory.h"

namespace rematlas {

class Arena {
  public:
    /// `plan` must have passed `check_requests`. Returns null if `plan` needs no bytes.
    static std::shared_ptr<Arena> create(const std::vector<Request>& requests, RequestPlan plan,
                                         const ArenaMemory& memory);
    ~Arena();

    /// Returns false if there is no memory for the arena now; then nothing can be taken in this step.
    bool begin_step();
    void end_step();
    void* take(std::size_t bytes);
    /// Returns true if all requests up to now were as planned.
    bool on_plan() const { return on_plan_; }
    /// Returns true if all requests of the plan have been made.
    bool complete() const { return next_ == offsets_.size(); }
    std::int64_t bytes() const { return bytes_; }

    bool contains(const void* data) const { return base_ && data >= base_ && data < base_ + bytes_; }
    /// Says whether the address is in the memory of some arena.
    static bool holds(const void* data);
    /// Gives memory back to this arena. Returns the size of the memory, or nullopt if this arena has not
    /// handed it out.
    std::optional<std::int64_t> return_here(void* data);
    /// Gives memory back to the arena that handed it out. Returns the size of the memory, or nullopt if no
    /// arena handed it out.
    static std::optional<std::int64_t> give_back(void* data);
    /// Must be called when the owner no longer needs the arena. The arena is freed once none of its memory is
    /// held.
    static void retire(std::shared_ptr<Arena> arena);
    /// Releases the memory of all idle arenas on the device. An arena is idle if it is in no step and nobody
    /// holds its memory. Returns whether any memory was released.
    static bool give_way(int device);

  private:
    Arena(const std::vector<Request>& requests, RequestPlan plan, const ArenaMemory& memory);
    bool reserve();
    bool take_over();
    bool is_idle() const { return base_ && !in_step_ && !anything_held(); }
    void find_refused();
    bool taken(std::int32_t request) const {
        return holders_[place_[request]].load(std::memory_order_acquire) == request;
    }
    bool anything_held() const;

    static constexpr std::int32_t kNobody = -1;

    ArenaMemory memory_;
    char* base_ = nullptr;  ///< null as long as the arena has no memory
    std::int64_t bytes_;
    std::int64_t reserved_ = 0;                  ///< bytes at `base_`, at least `bytes_`
    std::vector<std::int64_t> sizes_, offsets_;  ///< per request
    Lists before_;
    std::vector<std::int32_t> place_;  ///< per request: its place; requests with equal offsets share a place
    std::unordered_map<std::int64_t, std::int32_t> places_;  ///< places by offset
    std::vector<std::atomic<std::int32_t>> holders_;         ///< per place: the request that holds it
    /// Per request: whether this step refuses it. Empty if this step refuses no request.
    std::vector<std::uint8_t> refused_;
    std::size_t next_ = 0;
    bool on_plan_ = false;
    bool in_step_ = false;
    bool retired_ = false;
};

}  // namespace rematlas
