// The budget at which another solve tells most about a trade-off curve.
//
// The least overhead is a non-increasing function of the budget. At a budget m it lies at or below the
// overhead of every schedule found whose peak is at most m, and at or above every bound proven at m or at a
// larger budget. The overhead found changes at the peaks of schedules, and the proven bound changes at the
// budgets with a bound. Between two neighbouring changes both are constant, so the curve runs through a
// rectangle. Its width is the bytes between the two, and its height is the overhead found at the left end
// less the bound proven at the right end. The sum of the areas of the rectangles measures what is not known
// of the curve. A budget in the middle of the largest rectangle at least halves the width of that rectangle,
// whatever is found there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace rematlas {

/// The result of a solve at a budget.
struct CurveSample {
    Bytes budget;
    std::optional<Bytes> peak = {};  ///< of the schedule found; absent if none was found
    double overhead = 0;             ///< of that schedule
    double bound = 0;                ///< proven lower bound at the budget; 0 if none is known
};

/// Between `from` and `to` the overhead is at most `above` and at least `below`.
struct CurvePiece {
    Bytes from, to;
    double above = 0, below = 0;

    /// The area in bytes, since overheads have no unit. It is 0 if `below` is larger than `above`, as a
    /// bound on a smaller class of schedules can be.
    double area() const;
};

/// The pieces from the smallest to the largest budget of the samples, in order. Left of the first schedule,
/// `above` is the greatest overhead found. Cost: n log n.
std::vector<CurvePiece> curve_pieces(std::span<const CurveSample> samples);

/// The sum of the areas of all pieces.
double curve_area(std::span<const CurveSample> samples);

/// The middle of the piece with the largest area (of equal areas the widest, then the leftmost). It is
/// absent if no piece has a budget between its ends.
std::optional<Bytes> next_budget(std::span<const CurveSample> samples);

/// `count` budgets from smallest to largest, evenly spaced, both included.
std::vector<Bytes> even_budgets(Bytes smallest, Bytes largest, int count);

}  // namespace rematlas
