// The memory of a step that is run over and over: the first run is served by the system and logged, later
// ones by an arena at planned addresses, without the system.
//
//     StepMemory memory(host_memory());
//     memory.begin_step(key);                      // a number that names what will run
//     { StepMemory::Scope scope(memory); ... }     // allocations of this thread come from it; several scopes
//     memory.end_step();                           // a logged step is planned here
//     memory.report();
//
// A step that asks for other memory than was logged is served by the system from there on, and logged
// again the next time. A step whose arena does not fit beside what is held is served by the system too.
// Results that the caller still holds when the next step begins are safe (see arena.h).
// The allocator of the device asks `StepMemory::active()` first, and tells of what it served itself.
// Threads: steps of one StepMemory follow one another; memory may be given back by any thread.
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
    std::int64_t arena_bytes = 0;         ///< 0 as long as there is none, and where it did not fit
    std::int64_t system_allocations = 0;  ///< in scopes of the last step
    std::int64_t deviations = 0;          ///< planned steps that asked for something else
};

struct RequestLog;

class StepMemory {
  public:
    explicit StepMemory(const ArenaMemory& memory);
    StepMemory(const StepMemory&) = delete;
    StepMemory& operator=(const StepMemory&) = delete;
    ~StepMemory();

    /// Another `key` than that of the last step: other requests are to be expected, all is logged anew.
    /// `most`: bytes that an arena should not go beyond; to stay within them is worth some effort when it is
    /// planned.
    void begin_step(std::uint64_t key, std::int64_t most = std::numeric_limits<std::int64_t>::max());
    /// Without one, after an error, the next `begin_step` forgets what was logged.
    void end_step();
    const StepMemoryReport& report() const { return report_; }

    /// While it lives, this thread's allocations come from the step's memory.
    class Scope {
      public:
        explicit Scope(StepMemory* memory);  ///< null: nothing changes
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope();

      private:
        StepMemory* outer_;
    };

    // For allocators.
    /// That of this thread's innermost scope, where it is of this device's memory.
    static StepMemory* active(int device);
    bool logs() const { return log_ != nullptr; }
    /// Null: the system has to serve, and `served` has to be told.
    void* take(std::size_t bytes);
    void served(void* data, std::size_t bytes);
    /// The size of what an arena had handed out there; nothing when the system had.
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
    int runs_ = 0;         ///< of the arena
    bool fitted_ = false;  ///< it had its memory when the step began
    std::shared_ptr<Arena> arena_;
    std::shared_ptr<RequestLog> log_;  ///< while a step is logged
};

/// The above for an allocator in a library of its own, which is linked with nothing of ours.
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
