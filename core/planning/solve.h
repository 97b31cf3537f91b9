// Solving with nothing left unchecked. What people ask for is in request.h.
#pragma once

#include <memory>
#include <string>

#include "core/graph/graph.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Outcome of one checked solve.
struct Outcome {
    std::variant<Schedule, Infeasible> answer;
    Bytes budget = {};
    double seconds = 0;

    const Schedule* schedule() const { return std::get_if<Schedule>(&answer); }
    const Infeasible* infeasible() const { return std::get_if<Infeasible>(&answer); }
};

/// Runs the solver, plays its schedule through the independent checker and fills in the file's fields.
/// Errors, never seen so far: a schedule that the checker refuses (it is not returned).
Result<Outcome> solve(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress = {});

/// A solution as a schedule: with the graph's name and digest, the solver's name and the budget, with what is
/// beside the device, with a bound (`add_bound`), and checked. Errors: what the checker refuses, or a bound that does not hold; either is a
/// mistake of ours.
Result<Schedule> checked(const Problem& problem, Solution solution, std::string_view solver, Bytes budget,
                         const Limits& limits);

/// Errors: steps that break a pin, which is a mistake of ours.
Result<void> obeys_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins);

/// A schedule without a bound gets one, within `limits.bound_time` a better one. Where copies to the host are
/// allowed, or the schedule has some, the bound is over all schedules with copies. Without a gap its status is optimal. Errors: a bound above the overhead
/// of the schedule; one of the two is wrong.
Result<void> add_bound(const Problem& problem, Bytes budget, const Limits& limits, Schedule& schedule);

}  // namespace rematlas
