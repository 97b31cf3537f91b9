// What memory rows of relaxations can gain from tensors being whole.
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// The largest sum of a subset of `sizes` that is at most `limit` (not negative), or a value between it and
/// `limit` where finding it would take long: then only multiples of the greatest common divisor are
/// considered. Bitset dynamic programme: at most about 10 ms.
std::int64_t largest_subset_sum(std::vector<std::int64_t> sizes, std::int64_t limit);

}  // namespace rematlas
