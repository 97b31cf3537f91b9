// Runs any solver on a training step whose ops update tensors that other ops read
// (core/schedule/update_order.h).
//
//     Answer answer = solve_in_order(problem, *solver, budget, limits, progress);
#pragma once

#include "core/solving/solver.h"

namespace rematlas {

/// Returns the solver's answer, changed so that each update runs after the last runs of the ops that read the
/// old value of the updated tensor. If the changed schedule exceeds the budget, the function calls the solver
/// again, with a graph in which the updates that had to move come at the end of the step. The function ends
/// when the schedule fits or no further update has to move. Each call of the solver gets half of the time
/// that is left. After a second call, the answer has no bound from the solver. A problem that allows copies
/// is passed to the solver unchanged.
Answer solve_in_order(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress);

/// Says whether `solve_in_order` may call the solver with a changed graph.
bool has_ordered_updates(const Graph& graph);

}  // namespace rematlas
