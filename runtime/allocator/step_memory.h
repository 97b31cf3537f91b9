// The memory of a step that runs over and over. The system serves the first run, which is logged; an arena
// serves later runs at planned addresses, without the system.
//
//     StepMemory memory(host_memory());
//     memory.begin_step(key);                      // a number that names what will run
//     { StepMemory::Scope scope(memory); ... }     // allocations of this thread come from it; several scopes
//     memory.end_step();                           // a logged step is planned here
//     memory.report();
//
// If a step asks for other memory than was logged, the system serves it from there on, and the step is
// logged again the next time. The system also serves a step whose arena does not fit beside the memory that
// is held. Results that the caller still holds when the next step begins are safe (see arena.h). The
// allocator of the device asks `StepMemory::active()` first, and reports the requests that it served
// itself. Threads: steps of one StepMemory follow one another; memory may be given back by any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/allocator/arena.h"
#include "runtime/allocator/memory_limit.h"

namespace rematlas {

struct StepMemoryReport {
    std::int64_t arena_bytes = 0;         ///< 0 if there is no arena, or if it did not fit
    std::int64_t system_allocations = 0;  ///< requests that the system served in scopes of the last step
    std::int64_t deviations = 0;          ///< number of planned steps that asked for other memory
};

struct RequestLog;

class StepMemory {
  public:
    explicit StepMemory(const ArenaMemory& memory);
    StepMemory(const StepMemory&) = delete;
    StepMemory& operator=(const StepMemory&) = delete;
    ~StepMemory();

    /// A `key` other than that of the last step means that other requests are expected: everything is
    /// logged anew. `most`: bytes that an arena should not exceed; the plan takes more effort to stay
    /// within them.
    void begin_step(std::uint64_t key, std::int64_t most = std::numeric_limits<std::int64_t>::max());
    /// Ends the step. If this call is missing after an error, the next `begin_step` forgets the log.
    void end_step();
    const StepMemoryReport& report() const { return report_; }

    /// While a Scope lives, this thread's allocations come from the step's memory.
    class Scope {
      public:
        explicit Scope(StepMemory* memory);  ///< null: no step's memory serves this thread
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope();

      private:
        StepMemory* outer_;
    };

    // The functions below are for allocators.
    /// The memory of this thread's innermost scope, if it is for this device; else null.
    static StepMemory* active(int device);
    bool logs() const { return log_ != nullptr; }
    /// Serves a request. Null: the system has to serve it, and `served` has to be called.
    void* take(std::size_t bytes);
    void served(void* data, std::size_t bytes);
    /// Gives memory back. Returns its size if an arena had handed it out; nothing if the system had.
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
    std::shared_ptr<RequestLog> log_;  ///< while a step is logged
};

/// The functions above, for an allocator in a separate library that is not linked with other code of
/// Rematlas.
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
