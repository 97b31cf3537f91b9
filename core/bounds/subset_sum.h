// The gain of memory rows of relaxations from the fact that a tensor is kept as a whole or not at all.
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// The largest sum of a subset of `sizes` that is at most `limit` (not negative). Where the search would
/// take long, the largest multiple of the greatest common divisor of `sizes` up to `limit`, which is at
/// least that sum. Method: dynamic programming on bitsets. Cost: at most about 10 ms.
std::int64_t largest_subset_sum(std::vector<std::int64_t> sizes, std::int64_t limit);

}  // namespace rematlas
