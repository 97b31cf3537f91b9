// The answers that solvers have in common.
#pragma once

#include <optional>
#include <span>

#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

/// How far `overhead` is above the proven `bound`, as a share of the bound; 0 where no schedule can be
/// faster.
double gap_above(double overhead, double bound);
/// Whether a gap is nothing but rounding: no schedule is faster.
bool is_none(double gap);

/// The steps, time and peak of a run sequence as a solution.
Solution solution_from(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// The answer when no schedule fits the budget, with the memory that every schedule needs.
Infeasible infeasible_from(const PeakBound& needed, Bytes budget, std::optional<Bytes> smallest_found);

/// The same with `least_peak`.
Infeasible infeasible_from(const FlatGraph& graph, Bytes budget, std::optional<Bytes> smallest_found);

/// The same with the bound on all schedules that copy no more to the host than `problem.copies` allows.
Infeasible infeasible_from(const Problem& problem, Bytes budget, std::optional<Bytes> smallest_found);

/// The schedule `required_once`, proven optimal, where it fits the budget. Cost: linear.
std::optional<Solution> optimal_without_reruns(const FlatGraph& graph, Bytes budget);

}  // namespace rematlas
