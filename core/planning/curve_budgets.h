// Where on a trade-off curve another budget tells most.
//
// The least overhead is a non-increasing function of the budget. At a budget m it lies at or below the
// overhead of every schedule found whose peak is at most m, and at or above every bound proven at m or at a
// larger budget. Between two neighbouring places where one of the two changes (a peak of a schedule, a budget
// with a bound) both are constant: the curve runs through a rectangle, as wide as the bytes between and as
// high as the overhead found at its left end is above what is proven at its right end. The sum of these areas
// is how much is not known of the curve. A budget in the middle of the largest one halves its width at least,
// whatever is found there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace rematlas {

/// What a solve at a budget told of the curve.
struct CurveSample {
    Bytes budget;
    std::optional<Bytes> peak = {};  ///< of the schedule found; none where none was
    double overhead = 0;             ///< of that schedule
    double bound = 0;                ///< proven lower bound at the budget; 0 where none is
};

/// Between `from` and `to` the overhead is at most `above` and at least `below`.
struct CurvePiece {
    Bytes from, to;
    double above = 0, below = 0;

    /// In bytes, as overheads have no unit. 0 where the bound is that of a smaller class of schedules and
    /// lies above.
    double area() const;
};

/// From the smallest to the largest budget of the samples, in order. Left of the first schedule the greatest
/// overhead found is taken. Cost: n log n.
std::vector<CurvePiece> curve_pieces(std::span<const CurveSample> samples);

/// The sum of their areas.
double curve_area(std::span<const CurveSample> samples);

/// The middle of the piece with the largest area (of equal ones the widest, then the leftmost); none where no
/// budget is left between two.
std::optional<Bytes> next_budget(std::span<const CurveSample> samples);

/// `count` budgets from smallest to largest, evenly spaced, both included.
std::vector<Bytes> even_budgets(Bytes smallest, Bytes largest, int count);

}  // namespace rematlas
