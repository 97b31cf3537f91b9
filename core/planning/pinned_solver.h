// Any solver under the user's pins (core/schedule/pin.h).
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

/// The solver on the step under the pins (core/pins/pinned_step.h), as a solver of the graph itself. Its bounds,
/// and what it says is needed, hold for all schedules that obey the pins, in any order; where nothing is found
/// it says what works without the pins. Where copies to the host are allowed it is never worse than the answer without copies,
/// and an answer that would break a pin is not taken. Without pins it is `solver` itself. `graph` must outlive it. Errors:
/// those of `pinned_ops`.
Result<std::unique_ptr<Solver>> under_pins(const Graph& graph, const Pins& pins,
                                           std::unique_ptr<Solver> solver);

/// `smallest_feasible` for schedules that obey the pins, as runs of the original.
SmallestBudget smallest_under(const PinnedStep& step, const FlatGraph& original, const Limits& limits);

}  // namespace rematlas
