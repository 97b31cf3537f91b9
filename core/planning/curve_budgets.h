// Chooses the budget at which another solve gives most information about a trade-off curve.
//
// The least overhead is a non-increasing function of the budget. At a budget m it is at most the overhead of
// every schedule found whose peak is at most m, and at least every bound proven at m or at a larger budget.
// The overhead found changes at the peaks of schedules, and the proven bound changes at the budgets with a
// bound. Between two neighbouring changes the overhead found and the bound are constant, so the curve runs
// through a rectangle. The width of the rectangle is the bytes between the two changes. Its height is the
// overhead found at the left end minus the bound proven at the right end. The sum of the areas of the
// rectangles measures how little is known about the curve. A budget in the middle of the largest rectangle at
// least halves the width of that rectangle, whatever the solver finds at this budget.
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
