// The allocator of a CUDA device with arenas: within a step that runs in an arena, requests are served there;
// all others by libtorch's own allocator, as before.
#pragma once

#include "runtime/allocator/arena_memory.h"
#include "runtime/allocator/step_memory.h"

namespace rematlas {

/// Puts itself before libtorch's allocator for the rest of the process: its statistics and snapshots tell of
/// the arenas too, a request that fails makes arenas give way, and a stream that is recorded on memory of an
/// arena is waited for before a later step uses the arena. Sizes are rounded to `granularity`, as libtorch
/// does. Arenas are for the stream that was current when they were reserved.
ArenaMemory device_arena_memory(int device, std::int64_t granularity, const StepMemoryCalls& calls);

}  // namespace rematlas
