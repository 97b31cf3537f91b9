// Says what a schedule does in each block: sums over the ops of the block and of the blocks inside.
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

struct BlockSum {
    Bytes at_peak;        ///< bytes of the block's tensors that are held at the peak of the range
    DecisionShares made;  ///< bytes of all outputs, by the decision for them
    Nanoseconds extra;    ///< time of the reruns that lie in the range
    int reruns = 0;       ///< number of reruns in the range
};

struct BlockSums {
    IdVector<OpId, BlockSum> ops;
    IdVector<BlockId, BlockSum> blocks;
    Bytes peak;  ///< all bytes that are held at the peak of the range
};

/// Returns the sums for a range of the schedule; the peak is the step of the range that holds the most bytes.
/// The bytes at the peak are zero if the schedule cannot be simulated. Cost: linear in the steps and in the
/// ops times their depth.
BlockSums block_sums(const LoadedSchedule& schedule, const StepRange& range = {});

}  // namespace rematlas::explorer
