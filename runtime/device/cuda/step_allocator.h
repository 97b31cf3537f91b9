// The allocator of CUDA devices with arenas: within a step that runs in an arena, requests are served there;
// all others by libtorch's own allocator, as before.
#pragma once

#include <cstdint>

#include "runtime/allocator/arena_memory.h"
#include "runtime/allocator/step_memory.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Puts itself before libtorch's allocator for the rest of the process; later calls do nothing. Statistics
/// and snapshots tell of the arenas too, a request that fails makes arenas give way, and a stream that is
/// recorded on memory of an arena is waited for before a later step uses the arena. Sizes are rounded to
/// `granularity`, as libtorch does.
void stand_before_allocator(std::int64_t granularity, const StepMemoryCalls& calls);

/// Of an allocator that stands there. Arenas are for the stream that was current when they were reserved.
ArenaMemory device_arena_memory(int device);

/// A peak of allocated bytes that nobody else sees: the statistics that the process reads keep theirs.
void reset_measured_peak(int device);
LooseBlocks large_blocks(int device);    ///< `slack` is not set
std::int64_t measured_peak(int device);  ///< bytes, since it was reset
/// Returns the peak since the last call of this function, in bytes. `reset_measured_peak` does not change it.
std::int64_t take_step_peak(int device);

}  // namespace rematlas
