// The functions by which arenas get memory: on the host, or on a device.
#pragma once

#include <cstdint>
#include <functional>

namespace rematlas {

/// The value of `ArenaMemory::device` for host memory.
inline constexpr int the_host = -1;

struct ArenaMemory {
    int device = the_host;        ///< the device that this memory serves: the index of a GPU, or `the_host`
    std::int64_t alignment = 64;  ///< alignment of every address, in bytes
    std::function<void*(std::size_t bytes)> reserve = {};  ///< returns null when there is no memory
    std::function<void(void* memory, std::size_t bytes)> release = {};
    std::function<void()> trim = [] {};  ///< gives unused memory of the process back to the system
    /// Called before a step. Makes the step wait until other queues (streams) no longer use memory that was
    /// given back.
    std::function<void()> await_users = [] {};
};

/// Returns functions that reserve host memory by mmap, in huge pages if the system has them.
ArenaMemory host_memory();

}  // namespace rematlas
