// One piece of memory from which a logged sequence of requests is served again, each at its planned
// address.
//
//     auto arena = Arena::create(requests, plan_requests(requests), host_memory());
//     if (arena->begin_step()) ...             // takes its memory where it has none
//     void* data = arena->take(bytes);         // null: not what was planned, ask the system
//     Arena::give_back(data);                  // by anybody, at any time; nothing when it is nobody's
//     arena->end_step();
//
// Nothing that is held is ever handed out again: a request is served only when everybody who had bytes of its
// place before has given them back. The first request that deviates, in size, in number or because a place is
// not free, ends the service until the next step. What is still held when a step begins (results in the hands
// of the caller) keeps its bytes; only the requests planned there are refused.
// Between steps an arena of which nothing is held gives its memory away where others need it: arenas of steps that
// alternate share one memory.
// Threads: one takes, any may give back. The memory lives until its owner and the last holder are gone.
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

    /// False where there is no memory for it now: nothing can be taken in this step.
    bool begin_step();
    void end_step();
    void* take(std::size_t bytes);
    /// Everything that was asked for was as planned, up to now.
    bool on_plan() const { return on_plan_; }
    /// All requests of the plan have been made.
    bool complete() const { return next_ == offsets_.size(); }
    std::int64_t bytes() const { return bytes_; }

    bool contains(const void* data) const { return base_ && data >= base_ && data < base_ + bytes_; }
    /// Whether some arena's memory lies there.
    static bool holds(const void* data);
    /// Gives back what this arena handed out, and its size.
    std::optional<std::int64_t> return_here(void* data);
    /// The same, whichever arena it was; nothing when it was none.
    static std::optional<std::int64_t> give_back(void* data);
    /// The owner needs it no longer; it goes with the last holder.
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
    char* base_ = nullptr;  ///< null as long as it has no memory
    std::int64_t bytes_;
    std::int64_t reserved_ = 0;                  ///< bytes at `base_`, at least `bytes_`
    std::vector<std::int64_t> sizes_, offsets_;  ///< per request
    Lists before_;
    std::vector<std::int32_t> place_;  ///< per request: requests of one offset share one
    std::unordered_map<std::int64_t, std::int32_t> places_;  ///< by offset
    std::vector<std::atomic<std::int32_t>> holders_;         ///< per place: the request that is held there
    std::vector<std::uint8_t> refused_;  ///< per request, in this step; empty when none is
    std::size_t next_ = 0;
    bool on_plan_ = false;
    bool in_step_ = false;
    bool retired_ = false;
};

}  // namespace rematlas
