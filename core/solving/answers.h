// Functions that make the answers of solvers.
#pragma once

#include <optional>
#include <span>

#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Returns (overhead - bound) / bound, or 0 if `overhead` is at most the proven `bound`.
double gap_above(double overhead, double bound);
/// Says whether `gap` is small enough to be a rounding error. The schedule then counts as optimal.
bool is_none(double gap);

/// Makes a solution with the steps, the time and the peak of a run sequence.
Solution solution_from(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Makes the answer of a solver that found no schedule within the budget. `needed`: a lower bound on the peak
/// of every schedule.
Infeasible infeasible_from(const PeakBound& needed, Bytes budget, std::optional<Bytes> smallest_found);

/// Like the overload above, with `least_peak(graph)` as `needed`.
Infeasible infeasible_from(const FlatGraph& graph, Bytes budget, std::optional<Bytes> smallest_found);

/// Like the first overload. Computes `needed` as a lower bound on the peaks of all schedules that copy only
/// what `problem.copies` allows.
Infeasible infeasible_from(const Problem& problem, Bytes budget, std::optional<Bytes> smallest_found);

/// Returns the schedule that runs each required op once (`required_once`), marked as optimal, if it fits the
/// budget. Cost: linear.
std::optional<Solution> optimal_without_reruns(const FlatGraph& graph, Bytes budget);

}  // namespace rematlas
