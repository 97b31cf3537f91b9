// Runs any solver on a step whose ops update tensors that other ops read (core/schedule/update_order.h).
//
//     Answer answer = solve_in_order(problem, *solver, budget, limits, progress);
#pragma once

#include "core/solving/solver.h"

namespace rematlas {

/// The solver's answer, in which each update runs behind the last runs of the ops that read before it. Where
/// the updates do not fit the budget there, the function asks the solver again with the late updates behind
/// the whole step, each time with half of the time that is left. It ends when the updates fit or no further
/// update is late. Such an answer has no bound of the solver's. A problem that allows copies goes to the
/// solver unchanged.
Answer solve_in_order(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress);

/// Whether `solve_in_order` may ask for another graph than the problem's.
bool has_ordered_updates(const Graph& graph);

}  // namespace rematlas
