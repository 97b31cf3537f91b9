// Plays a memory snapshot: which blocks were alive at which moments, and how much was allocated and
// reserved.
#pragma once

#include "core/snapshots/measured_memory.h"
#include "core/snapshots/memory_snapshot.h"

namespace rematlas {

/// The trace holds the last events only. The blocks that were there before are found from later facts:
/// blocks of the final segments that no event allocates were there all along, and blocks that are freed
/// without an allocation were there at the beginning. Reserved bytes are counted backwards from the final
/// segments.
MeasuredMemory measured_from(MemorySnapshot snapshot);

}  // namespace rematlas
