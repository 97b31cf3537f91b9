// Functions that make the answers of solvers.
#pragma once

#include <optional>
#include <span>

#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Returns how far `overhead` is above the proven `bound`, as a share of the bound; 0 if it is at most the
/// bound.
double gap_above(double overhead, double bound);
/// Says whether a gap is only a rounding error, so that the schedule counts as optimal.
bool is_none(double gap);

/// Makes a solution with the steps, the time and the peak of a run sequence.
Solution solution_from(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Makes the answer of a solver that found no schedule within the budget. `needed`: the memory that every
/// schedule needs.
Infeasible infeasible_from(const PeakBound& needed, Bytes budget, std::optional<Bytes> smallest_found);

/// This overload takes `least_peak` of the graph as the needed memory.
Infeasible infeasible_from(const FlatGraph& graph, Bytes budget, std::optional<Bytes> smallest_found);

/// This overload computes the needed memory as a bound on all schedules that copy no more to the host than
/// `problem.copies` allows.
Infeasible infeasible_from(const Problem& problem, Bytes budget, std::optional<Bytes> smallest_found);

/// Returns the schedule that runs each required op once (`required_once`), marked as optimal, if it fits the
/// budget. Cost: linear.
std::optional<Solution> optimal_without_reruns(const FlatGraph& graph, Bytes budget);

}  // namespace rematlas
