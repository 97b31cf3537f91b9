// Sums up what a schedule does in each block. A sum is over the ops of the block and of all blocks inside it.
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

struct BlockSum {
    Bytes at_peak;        ///< bytes of the block's tensors that are held at the peak of the range
    DecisionShares made;  ///< bytes of the outputs of the block's ops: a sum for each decision
    Nanoseconds extra;    ///< time of the reruns within the range
    int reruns = 0;       ///< number of reruns within the range
};

struct BlockSums {
    IdVector<OpId, BlockSum> ops;
    IdVector<BlockId, BlockSum> blocks;
    Bytes peak;  ///< all bytes that are held at the peak of the range
};

/// Returns the sums for a range of the schedule. The peak of the range is the step of the range at which the
/// most bytes are held. The bytes at the peak are zero if the schedule cannot be simulated. Cost: linear in
/// the steps, and in the number of ops times the depth of their blocks.
BlockSums block_sums(const LoadedSchedule& schedule, const StepRange& range = {});

}  // namespace rematlas::explorer
