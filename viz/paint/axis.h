// Axes with round ticks, in units that are easy to read.
#pragma once

#include <string>
#include <vector>

#include "core/base/ids.h"
#include "viz/paint/canvas.h"

namespace rematlas {

struct Tick {
    double value;
    std::string label;
};

/// A linear scale from values to points, with its ticks and the unit of their labels.
struct Axis {
    double low = 0, high = 1;   ///< values at the ends
    double start = 0, end = 1;  ///< positions of the ends, in points
    std::vector<Tick> ticks;    ///< inside [low, high]
    std::string unit;

    double value_at(double point) const { return low + (point - start) / (end - start) * (high - low); }
    double at(double value) const { return start + (value - low) / (high - low) * (end - start); }
};

/// Returns an axis in the unit that suits `high`. It has about `count` ticks at round distances: 1, 2 or 5
/// times a power of ten (for bytes, from 8 units on: powers of two).
Axis bytes_axis(double low, double high, double start, double end, int count);
/// Returns an axis as `bytes_axis` does, for values in nanoseconds.
Axis time_axis(double low, double high, double start, double end, int count);
/// Returns an axis as `bytes_axis` does, for counts of things, such as runs.
Axis count_axis(double low, double high, const std::string& unit, double start, double end, int count);
/// Returns an axis as `bytes_axis` does, for overheads: 1.1 is labelled "+10 %".
Axis overhead_axis(double low, double high, double start, double end, int count);

/// Returns "+7.1 %" for 1.071.
std::string format_overhead(double overhead);

}  // namespace rematlas
