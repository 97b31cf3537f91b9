// The allocator of CUDA devices with arenas. Within a step that runs in an arena, the arena serves
// requests; libtorch's own allocator serves all others, as before.
#pragma once

#include <cstdint>

#include "runtime/allocator/arena_memory.h"
#include "runtime/allocator/step_memory.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Puts the allocator before libtorch's for the rest of the process; later calls do nothing. Statistics and
/// snapshots include the arenas. A request that fails makes arenas give way. If a stream is recorded on
/// memory of an arena, a later step waits for the stream before it uses the arena. Sizes are rounded to
/// `granularity`, as libtorch rounds them.
void stand_before_allocator(std::int64_t granularity, const StepMemoryCalls& calls);

/// The memory for arenas, from the allocator that `stand_before_allocator` has put there. Arenas are for
/// the stream that was current when they were reserved.
ArenaMemory device_arena_memory(int device);

/// Resets a peak of allocated bytes that nobody else sees: the statistics that the process reads keep
/// theirs.
void reset_measured_peak(int device);
LooseBlocks large_blocks(int device);    ///< `slack` is not set
std::int64_t measured_peak(int device);  ///< peak in bytes since `reset_measured_peak`
/// Returns the peak since the last call of this function, in bytes. `reset_measured_peak` does not change it.
std::int64_t take_step_peak(int device);

}  // namespace rematlas
