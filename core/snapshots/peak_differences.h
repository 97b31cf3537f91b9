// Compares the blocks that are alive at a measured peak with the tensors that a plan holds at its own peak.
// Blocks and tensors are matched by their sizes: a snapshot contains no names of tensors, and a plan contains
// no lines of code, but blocks of the same size are usually the same tensors.
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
    bool measured = false;   ///< whether the measurement has more blocks of this size; if not, the plan has
    Bytes each = {};         ///< size of one block, rounded up as the allocator does
    std::size_t blocks = 0;  ///< how many more blocks of this size that side has than the other side
    std::string names = {};  ///< most frequent names of blocks of this size: places in the user's code if
                             ///< `measured`, else tensors
    Bytes total() const { return Bytes(each.value * static_cast<std::int64_t>(blocks)); }
};

/// Returns the differences, the largest first. Sizes are rounded up to 512 bytes before they are compared, as
/// the CUDA allocator rounds them.
std::vector<PeakDifference> peak_differences(const std::vector<PlannedBytes>& planned,
                                             const MeasuredMemory& measured, const MeasuredDevice& device,
                                             TraceMoment moment);

}  // namespace rematlas
