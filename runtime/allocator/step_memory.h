// The memory of a step that runs repeatedly. The system serves the first run, which is logged; in later runs
// an arena serves the requests at planned addresses, without the system.
//
//     StepMemory memory(host_memory());
//     memory.begin_step(key);                      // a number that identifies what will run
//     { StepMemory::Scope scope(&memory); ... }    // serves this thread's allocations; can be repeated
//     memory.end_step();                           // a logged step is planned here
//     memory.report();
//
// If a step makes another request than was logged, the system serves this request and all later ones, and the
// next step is logged again. The system also serves a step whose arena does not fit beside the memory in use.
// Results that the caller still holds when the next step begins are safe (see arena.h). The device's
// allocator asks `StepMemory::active()` first, and reports each request that it had to serve itself. Threads:
// the steps of one StepMemory must follow one another; any thread may give memory back.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "runtime/allocator/arena.h"
#include "runtime/allocator/memory_limit.h"

namespace rematlas {

struct StepMemoryReport {
    std::int64_t arena_bytes = 0;         ///< 0 if there is no arena, or if it did not fit
    std::int64_t system_allocations = 0;  ///< requests of the last step that the system served
    std::int64_t deviations = 0;          ///< number of steps that made other requests than planned
};

struct RequestLog;

class StepMemory {
  public:
    explicit StepMemory(const ArenaMemory& memory);
    StepMemory(const StepMemory&) = delete;
    StepMemory& operator=(const StepMemory&) = delete;
    ~StepMemory();

    /// `key` identifies what the step does. If it differs from the key of the previous step, all memory is
    /// planned anew, and this step is logged. `most`: the largest number of bytes that the arena should have.
    /// A larger arena is planned again with more effort.
    void begin_step(std::uint64_t key, std::int64_t most = std::numeric_limits<std::int64_t>::max());
    /// Ends the step. If an error prevents this call, the next `begin_step` drops the log.
    void end_step();
    const StepMemoryReport& report() const { return report_; }

    /// While a Scope lives, this thread's allocations come from the step's memory.
    class Scope {
      public:
        explicit Scope(StepMemory* memory);  ///< with null, no StepMemory serves this thread
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope();

      private:
        StepMemory* outer_;
    };

    // The functions below are for allocators.
    /// Returns the memory of this thread's innermost scope if it belongs to this device; else null.
    static StepMemory* active(int device);
    bool logs() const { return log_ != nullptr; }
    /// Serves a request. If it returns null, the system must serve the request, and `served` must be called.
    void* take(std::size_t bytes);
    void served(void* data, std::size_t bytes);
    /// Gives memory back. Returns the size of the memory if an arena handed it out, or nullopt if the system
    /// did.
    static std::optional<std::int64_t> give_back(void* data);

  private:
    void plan();
    void drop_arena();
    void drop_log();

    ArenaMemory memory_;
    StepMemoryReport report_;
    std::uint64_t key_ = 0;
    std::int64_t most_ = 0;
    bool begun_ = false;
    int plans_left_ = 0;
    int runs_ = 0;         ///< number of steps with the arena
    bool fitted_ = false;  ///< the arena had its memory when the step began
    std::shared_ptr<Arena> arena_;
    std::shared_ptr<RequestLog> log_;  ///< set while a step is logged
};

/// The functions above as function pointers, for an allocator in a separate library that is not linked with
/// other code of Rematlas.
struct StepMemoryCalls {
    StepMemory* (*active)(int device);
    bool (*logs)(const StepMemory& memory);
    void* (*take)(StepMemory& memory, std::size_t bytes);
    void (*served)(StepMemory& memory, void* data, std::size_t bytes);
    std::optional<std::int64_t> (*give_back)(void* data);
    bool (*give_way)(int device);          ///< see Arena
    RoomMaker* (*room_maker)(int device);  ///< see MemoryLimit
};
StepMemoryCalls step_memory_calls();

}  // namespace rematlas
