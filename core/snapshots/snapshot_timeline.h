// Computes a timeline from a memory snapshot: which blocks were alive at which moments, and how many bytes
// were allocated and reserved.
#pragma once

#include "core/snapshots/measured_memory.h"
#include "core/snapshots/memory_snapshot.h"

namespace rematlas {

/// Returns the timeline. The trace contains only the last events, so older blocks are found indirectly: a
/// block of the final segments that no event allocates existed all the time, and a block that is freed
/// without an allocation existed at the beginning. Reserved bytes are computed backwards from the final
/// segments.
MeasuredMemory measured_from(MemorySnapshot snapshot);

}  // namespace rematlas
