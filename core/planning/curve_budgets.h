// Chooses the budget at which another solve gives most information about a trade-off curve.
//
// The least overhead is a non-increasing function of the budget. Two limits of it are known at a budget `m`.
// The upper limit is the least overhead of the known schedules whose peak is at most `m`. The lower limit is
// the highest bound that is proven at `m` or at a larger budget. The upper limit changes at the peaks of
// schedules, and the lower limit changes at the budgets with a bound. Between two neighbouring changes both
// limits are constant, so the curve runs through a rectangle. Its width is the number of bytes between the
// two changes. Its height is the upper limit at the left end minus the lower limit at the right end. The sum
// of the areas of the rectangles measures how little is known about the curve. A solve at a budget in the
// middle of the largest rectangle at least halves the width of this rectangle, whatever the solver finds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace rematlas {

/// The result of a solve at a budget.
struct CurveSample {
    Bytes budget;
    std::optional<Bytes> peak = {};  ///< peak of the schedule found; absent if none was found
    double overhead = 0;             ///< overhead of that schedule
    double bound = 0;                ///< proven lower bound on the overhead at the budget; 0 if none is known
};

/// A part of the curve: between `from` and `to` the least overhead is at most `above` and at least `below`.
struct CurvePiece {
    Bytes from, to;
    double above = 0, below = 0;

    /// Returns the area, in bytes because overheads have no unit. The area is 0 if `below` is larger than
    /// `above`, which can happen if a bound holds only for a smaller class of schedules.
    double area() const;
};

/// Returns the pieces in order, from the smallest to the largest budget of the samples. In pieces below the
/// smallest peak of a schedule, `above` is the greatest overhead found. Cost: n log n.
std::vector<CurvePiece> curve_pieces(std::span<const CurveSample> samples);

/// Returns the middle of the piece with the largest area (of equal areas the widest, then the leftmost).
/// Returns nothing if no piece has a budget strictly between its ends.
std::optional<Bytes> next_budget(std::span<const CurveSample> samples);

/// Returns `count` evenly spaced budgets, from `smallest` to `largest`, including both.
std::vector<Bytes> even_budgets(Bytes smallest, Bytes largest, int count);

}  // namespace rematlas
