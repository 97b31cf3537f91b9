// Where arenas lie: host memory, or a device's.
#pragma once

#include <cstdint>
#include <functional>

namespace rematlas {

/// `ArenaMemory::device` of host memory.
inline constexpr int the_host = -1;

struct ArenaMemory {
    int device = the_host;        ///< whose requests are served from it; a GPU by its index
    std::int64_t alignment = 64;  ///< of every address, bytes
    std::function<void*(std::size_t bytes)> reserve = {};  ///< null when it is out of memory
    std::function<void(void* memory, std::size_t bytes)> release = {};
    std::function<void()> trim = [] {};  ///< what the process holds unused goes back to the system
    /// Called before a step: work of other queues that uses what was given back comes before the step's.
    std::function<void()> await_users = [] {};
};

/// Pages of their own, large ones where the system has them.
ArenaMemory host_memory();

}  // namespace rematlas
