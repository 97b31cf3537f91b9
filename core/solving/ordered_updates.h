// Any solver on a step whose ops update what others read (core/schedule/update_order.h).
//
//     Answer answer = solve_in_order(problem, solver, budget, limits, progress);
#pragma once

#include "core/solving/solver.h"

namespace rematlas {

/// The solver's answer, with updates behind the last runs of what reads before them. Where these do not fit
/// behind them, the solver is asked again with the updates in question behind the whole step, in half of the time
/// that is left, until they fit or all are there; such an answer has no bound of the solver's. Schedules that copy
/// tensors are left as they are.
Answer solve_in_order(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress);

/// Whether `solve_in_order` may ask for another graph than the problem's.
bool has_ordered_updates(const Graph& graph);

}  // namespace rematlas
