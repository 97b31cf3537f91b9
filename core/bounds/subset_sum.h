// Tightens the memory rows of relaxations: a tensor is kept as a whole or not at all, so only some sums of
// sizes can occur.
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// Returns the largest sum of a subset of `sizes` that is at most `limit`, which must not be negative. If the
/// search would take too long, it returns an upper bound on that sum: the largest multiple of the greatest
/// common divisor of `sizes` that is at most `limit`. Method: dynamic programming on bitsets. Cost: at
/// most about 10 ms.
std::int64_t largest_subset_sum(std::vector<std::int64_t> sizes, std::int64_t limit);

}  // namespace rematlas
