// Makes any solver obey the user's pins (core/schedule/pin.h).
//
//     Result<std::unique_ptr<Solver>> solver = under_pins(graph, pins, make_rotor());
//     solve(problem, **solver, budget, limits);
#pragma once

#include <memory>

#include "core/graph/graph.h"
#include "core/pins/pinned_step.h"
#include "core/schedule/pin.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Makes a solver for the original graph. It lets `solver` work on the graph under the pins
/// (core/pins/pinned_step.h), and translates the answers to the original graph. Its bounds and needed bytes
/// hold for all schedules that obey the pins, in any order of ops. If it finds no schedule, its answer also
/// names a budget that works without the pins. If copies to the host are allowed, its answer is at least as
/// good as the answer without copies, and an answer that would break a pin is not used. Returns `solver`
/// itself if there are no pins. `graph` must outlive the solver. Errors: those of `pinned_ops`.
Result<std::unique_ptr<Solver>> under_pins(const Graph& graph, const Pins& pins,
                                           std::unique_ptr<Solver> solver);

/// Like `smallest_feasible`, for schedules that obey the pins. The runs in the result are runs of the
/// original graph.
SmallestBudget smallest_under(const PinnedStep& step, const FlatGraph& original, const Limits& limits);

}  // namespace rematlas
