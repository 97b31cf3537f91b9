// Solves a problem and checks the answer. The requests of users are in request.h.
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
/// Errors: a graph with a boundary, if the solver does not know boundaries or copies are allowed; those of
/// `checked`.
Result<Outcome> solve(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress = {});

/// Makes a schedule from a solution, with the graph's name and digest, the solver's name, the budget, the
/// fields about the host, and a bound (`add_bound`), and checks it. Errors: the checker refuses the
/// schedule, or the bound does not hold; either is a mistake of ours.
Result<Schedule> checked(const Problem& problem, Solution solution, std::string_view solver, Bytes budget,
                         const Limits& limits);

/// Errors: the steps break a pin, which is a mistake of ours.
Result<void> obeys_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins);

/// Gives a schedule without a bound a bound. With `limits.bound_time`, the function looks for a better bound
/// than the schedule has. If copies to the host are allowed, or the schedule has some, then the bound is
/// over all schedules with these copies. If no gap is left, then the status becomes optimal. Errors: the
/// bound is above the overhead of the schedule, so that one of the two is wrong.
Result<void> add_bound(const Problem& problem, Bytes budget, const Limits& limits, Schedule& schedule);

}  // namespace rematlas
