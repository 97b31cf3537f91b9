// The median of measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rematlas {

/// Returns the median of the values, and for an even number of values the larger of the two middle values.
/// There must be at least one value. Cost: linear.
template <class T>
T upper_median(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace rematlas
