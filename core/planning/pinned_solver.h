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

/// A solver of the graph itself that lets `solver` work on the step under the pins
/// (core/pins/pinned_step.h). Its bounds, and the bytes that it calls needed, hold for all schedules that
/// obey the pins, in any order. Where it finds no schedule, it names a budget that works without the pins.
/// With copies to the host, its answer is at least as good as the answer without copies, and an answer that
/// would break a pin is not taken. Without pins the function returns `solver` itself. `graph` must outlive
/// the solver. Errors: those of `pinned_ops`.
Result<std::unique_ptr<Solver>> under_pins(const Graph& graph, const Pins& pins,
                                           std::unique_ptr<Solver> solver);

/// `smallest_feasible` for schedules that obey the pins, as runs of the original.
SmallestBudget smallest_under(const PinnedStep& step, const FlatGraph& original, const Limits& limits);

}  // namespace rematlas
