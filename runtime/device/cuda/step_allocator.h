// An allocator of CUDA memory that supports arenas. Within a step that has an arena, the arena serves
// requests; libtorch's own allocator serves all others.
#pragma once

#include <cstdint>

#include "runtime/allocator/arena_memory.h"
#include "runtime/allocator/step_memory.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Puts this allocator in front of libtorch's for the rest of the process; further calls do nothing.
/// Statistics and snapshots include the arenas. If a request fails, idle arenas release their memory. If a
/// stream is recorded on memory of an arena, a later step waits for the stream before it uses the arena.
/// Sizes are rounded up to a multiple of `granularity`, as in libtorch.
void stand_before_allocator(std::int64_t granularity, const StepMemoryCalls& calls);

/// Returns the functions by which arenas get memory from the allocator that `stand_before_allocator` has
/// installed. An arena must be used on the stream that was current when its memory was reserved.
ArenaMemory device_arena_memory(int device);

/// Resets Rematlas' own peak of allocated bytes, which `measured_peak` returns. The peaks in the statistics
/// that the process reads do not change.
void reset_measured_peak(int device);
LooseBlocks large_blocks(int device);    ///< does not set `slack`
std::int64_t measured_peak(int device);  ///< peak in bytes since `reset_measured_peak`
/// Returns the peak since the last call of this function, in bytes. `reset_measured_peak` does not change
/// this peak.
std::int64_t take_step_peak(int device);

}  // namespace rematlas
