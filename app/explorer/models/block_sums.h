// What a schedule does in each block: sums over its ops and those of the blocks inside.
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

struct BlockSum {
    Bytes at_peak;        ///< of the tensors that its ops made, while the most is held
    DecisionShares made;  ///< bytes of all outputs, by what becomes of them
    Nanoseconds extra;    ///< of runs after the first that lie in the range
    int reruns = 0;       ///< how many of these there are
};

struct BlockSums {
    IdVector<OpId, BlockSum> ops;
    IdVector<BlockId, BlockSum> blocks;
    Bytes peak;  ///< all that is held then
};

/// Of what happens in a part of the schedule, and what is held where that part holds the most. Zero at the
/// peak for a schedule that cannot be played. Cost: linear in the steps and in the ops times their depth.
BlockSums block_sums(const LoadedSchedule& schedule, const StepRange& range = {});

}  // namespace rematlas::explorer
