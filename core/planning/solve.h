// Solves a problem and checks the answer. Users' requests are in request.h.
#pragma once

#include "core/graph/graph.h"
#include "core/solving/solver.h"

namespace rematlas {

/// The outcome of one checked solve.
struct Outcome {
    std::variant<Schedule, Infeasible> answer;
    Bytes budget = {};
    double seconds = 0;

    const Schedule* schedule() const { return std::get_if<Schedule>(&answer); }
    const Infeasible* infeasible() const { return std::get_if<Infeasible>(&answer); }
};

/// Runs the solver, checks its schedule with the independent checker, and sets the schedule's other fields.
/// Errors: the errors of `checked`; and for a graph with a boundary: the solver does not support boundaries,
/// copies to the host are allowed, or the graph has queues.
Result<Outcome> solve(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress = {});

/// Makes a schedule from a solution and checks it. The schedule gets the graph's name and digest, the
/// solver's name, the budget, the fields about the host, and a bound (`add_bound`). Errors: the checker
/// refuses the schedule, or the bound does not hold. Either error is a bug in Rematlas.
Result<Schedule> checked(const Problem& problem, Solution solution, std::string_view solver, Bytes budget,
                         const Limits& limits);

/// Checks that the steps obey the pins. An error is a bug in Rematlas.
Result<void> obeys_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins);

/// Gives the schedule a bound if it has none. If `limits.bound_time` is set and no copies are involved, also
/// looks for a better bound than the schedule has. If the problem allows copies to the host, the bound holds
/// for all schedules that copy no more than it allows. If it allows none, but the schedule contains copies,
/// the bound also holds for schedules with copies. If no gap is left, the status becomes optimal. Errors: the
/// bound is above the overhead of the schedule, so one of the two is wrong.
Result<void> add_bound(const Problem& problem, Bytes budget, const Limits& limits, Schedule& schedule);

}  // namespace rematlas
