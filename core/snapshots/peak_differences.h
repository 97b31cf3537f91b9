// Compares the blocks that are alive at a measured peak with those that a plan holds at its own peak, by
// their sizes. A snapshot names no tensors, and a plan names no lines of code, but blocks of the same size
// are most often the same tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/snapshots/measured_memory.h"

namespace rematlas {

/// A tensor or a workspace that a plan holds.
struct PlannedBytes {
    Bytes bytes;
    std::string name;
};

struct PeakDifference {
    bool measured = false;   ///< alive in the measurement alone; else in the plan alone
    Bytes each = {};         ///< of one block, rounded up as the allocator does
    std::size_t blocks = 0;  ///< how many more than on the other side
    std::string names = {};  ///< of all blocks of this size: places of the user's code, or tensors
    Bytes total() const { return Bytes(each.value * static_cast<std::int64_t>(blocks)); }
};

/// The largest difference first. Sizes are compared as the allocator of CUDA memory rounds them, to 512
/// bytes.
std::vector<PeakDifference> peak_differences(const std::vector<PlannedBytes>& planned,
                                             const MeasuredMemory& measured, const MeasuredDevice& device,
                                             TraceMoment moment);

}  // namespace rematlas
