// A memory snapshot, played: which blocks were alive when, and how much was allocated and reserved.
#pragma once

#include "core/snapshots/measured_memory.h"
#include "core/snapshots/memory_snapshot.h"

namespace rematlas {

/// The trace holds the last events alone. What was there when it begins is found from its end: blocks of
/// the final segments that no event allocates were there all along, and so were those that are given
/// back without having been allocated. Bytes reserved are counted backwards from the final segments.
MeasuredMemory measured_from(MemorySnapshot snapshot);

}  // namespace rematlas
