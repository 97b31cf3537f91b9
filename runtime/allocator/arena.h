// One piece of memory from which a logged sequence of requests is served again, each at its planned
// address.
//
//     auto arena = Arena::create(requests, plan_requests(requests), host_memory());
//     if (arena->begin_step()) ...             // takes its memory where it has none
//     void* data = arena->take(bytes);         // null: not what was planned, ask the system
//     Arena::give_back(data);                  // by anybody, at any time; nothing when it is nobody's
//     arena->end_step();
//
// Memory that is held is never handed out again: a request is served only when everybody who had bytes of
// its place before has given them back. The first request that deviates, in size, in number or because a
// place is not free, ends the service until the next step. Tensors that are still held when a step begins
// (results in the hands of the caller) keep their bytes; only the requests that are planned there are
// refused. Between steps an arena in which nothing is held gives its memory away if others need it: arenas
// of alternating steps share one memory. Threads: one takes, any may give back. The memory lives until its
// owner and the last holder are gone.
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
    /// `plan` has passed `check_requests`. Null where nothing is requested.
    static std::shared_ptr<Arena> create(const std::vector<Request>& requests, RequestPlan plan,
                                         const ArenaMemory& memory);
    ~Arena();

    /// False if there is no memory for the arena now: nothing can be taken in this step.
    bool begin_step();
    void end_step();
    void* take(std::size_t bytes);
    /// True if all requests up to now were as planned.
    bool on_plan() const { return on_plan_; }
    /// True if all requests of the plan have been made.
    bool complete() const { return next_ == offsets_.size(); }
    std::int64_t bytes() const { return bytes_; }

    bool contains(const void* data) const { return base_ && data >= base_ && data < base_ + bytes_; }
    /// Whether the address is in the memory of some arena.
    static bool holds(const void* data);
    /// Gives memory back to this arena. Returns its size; nothing if this arena had not handed it out.
    std::optional<std::int64_t> return_here(void* data);
    /// Gives memory back to the arena that had handed it out. Returns its size; nothing if it was no
    /// arena's.
    static std::optional<std::int64_t> give_back(void* data);
    /// To be called when the owner needs the arena no longer. It is freed with the last memory that is held
    /// of it.
    static void retire(std::shared_ptr<Arena> arena);
    /// Releases the memory of arenas on the device that are in no step and of which nothing is held. Returns
    /// whether there were any.
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
    std::vector<std::int32_t> place_;  ///< per request: its place; requests with equal offsets share one
    std::unordered_map<std::int64_t, std::int32_t> places_;  ///< places by offset
    std::vector<std::atomic<std::int32_t>> holders_;         ///< per place: the request whose memory is held
                                                             ///< there
    std::vector<std::uint8_t> refused_;  ///< per request, in this step; empty when none is
    std::size_t next_ = 0;
    bool on_plan_ = false;
    bool in_step_ = false;
    bool retired_ = false;
};

}  // namespace rematlas
