// One piece of memory from which a recorded sequence of requests is served again, each at its planned
// address.
//
//     auto arena = Arena::create(requests, plan_requests(requests), host_memory());
//     arena->begin_step();
//     void* data = arena->take(bytes);         // null: not what was planned, ask the system
//     Arena::give_back(data);                  // by anybody, at any time; nothing when it is nobody's
//
// Nothing that is held is ever handed out again: a request is served only when everybody who had bytes of its
// place before has given them back. The first request that deviates, in size, in number or because a place is
// not free, ends the service until the next step. What is still held when a step begins (results in the hands
// of the caller) keeps its bytes; only the requests planned there are refused.
// Threads: one takes, any may give back. The memory lives until its owner and the last holder are gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/addresses/request_plan.h"

namespace rematlas {

/// Where arenas lie: host memory, or a device's. Null when it is out of memory.
struct ArenaMemory {
    std::int64_t alignment = 64;  ///< of every address, bytes
    void* (*reserve)(std::size_t bytes) = nullptr;
    void (*release)(void* memory, std::size_t bytes) = nullptr;
    void (*trim)() = [] {};  ///< what the process holds unused goes back to the system
};

/// Pages of their own, large ones where the system has them.
ArenaMemory host_memory();

class Arena {
  public:
    /// `plan` has passed `check_requests`. Null when there is no memory for it.
    static std::shared_ptr<Arena> create(const std::vector<Request>& requests, RequestPlan plan,
                                         const ArenaMemory& memory);
    ~Arena();

    void begin_step();
    void* take(std::size_t bytes);
    /// Everything that was asked for was as planned, up to now.
    bool on_plan() const { return on_plan_; }
    /// All requests of the plan have been made.
    bool complete() const { return next_ == offsets_.size(); }
    std::int64_t bytes() const { return bytes_; }

    bool contains(const void* data) const { return data >= base_ && data < base_ + bytes_; }
    /// Whether some arena's memory lies there.
    static bool holds(const void* data);
    /// Gives back what this arena handed out, and its size.
    std::optional<std::int64_t> return_here(void* data);
    /// The same, whichever arena it was; nothing when it was none.
    static std::optional<std::int64_t> give_back(void* data);
    /// The owner needs it no longer; it goes with the last holder.
    static void retire(std::shared_ptr<Arena> arena);

  private:
    Arena(const std::vector<Request>& requests, RequestPlan plan, const ArenaMemory& memory, char* base);
    bool taken(std::int32_t request) const {
        return holders_[place_[request]].load(std::memory_order_acquire) == request;
    }
    bool anything_held() const;

    static constexpr std::int32_t kNobody = -1;

    ArenaMemory memory_;
    char* base_;
    std::int64_t bytes_;
    std::vector<std::int64_t> sizes_, offsets_;  ///< per request
    Lists before_;
    std::vector<std::int32_t> place_;  ///< per request: requests of one offset share one
    std::unordered_map<std::int64_t, std::int32_t> places_;  ///< by offset
    std::vector<std::atomic<std::int32_t>> holders_;         ///< per place: the request that is held there
    std::vector<std::uint8_t> refused_;  ///< per request, in this step; empty when none is
    std::size_t next_ = 0;
    bool on_plan_ = false;
    bool retired_ = false;
};

}  // namespace rematlas
