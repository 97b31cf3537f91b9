// The memory in which arenas lie: that of the host, or of a device.
#pragma once

#include <cstdint>
#include <functional>

namespace rematlas {

/// `ArenaMemory::device` of host memory.
inline constexpr int the_host = -1;

struct ArenaMemory {
    int device = the_host;        ///< the device whose requests are served from it; a GPU by its index
    std::int64_t alignment = 64;  ///< alignment of every address, in bytes
    std::function<void*(std::size_t bytes)> reserve = {};  ///< returns null when there is no memory
    std::function<void(void* memory, std::size_t bytes)> release = {};
    std::function<void()> trim = [] {};  ///< gives unused memory of the process back to the system
    /// Called before a step. Makes the step wait for work of other queues that uses memory which was given
    /// back.
    std::function<void()> await_users = [] {};
};

/// Memory of separate pages, large ones if the system has them.
ArenaMemory host_memory();

}  // namespace rematlas
