// The request of a user to a solver (from the command line, the explorer or Python), and its checked answer.
//
//     SolveRequest request{.solver = "rotor", .budget = *parse_budget("60%"), .limits = {.time = 10s}};
//     Result<Outcome> outcome = solve(graph, request);
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/sizes.h"
#include "core/planning/solve.h"

namespace rematlas {

struct SolveRequest {
    std::string solver = "atlas";
    /// Options of the solver, as in a Config; null: defaults.
    std::shared_ptr<const nlohmann::json> options = {};
    Budget budget = {};
    bool arena = false;  ///< whether the budget bounds the arena of planned addresses (solve_in_arena.h)
    Limits limits = {};
    Pins pins = {};  ///< pins that the schedule must obey (core/schedule/pin.h)
    /// The copies to the host that are allowed. If the links do not copy in both directions, the links of the
    /// graph's device are used instead. If the host budget is absent, but the memory of the graph's host is
    /// known, this memory is the host budget.
    Copies copies = {};
};

/// Returns `copies`; missing links and a missing host budget are taken from the graph's device and its host.
/// Fails if no links are known, or if the solver cannot plan the copies.
Result<Copies> copies_for(const Graph& graph, std::string_view solver, Copies copies);

/// Sets the gap at which the search ends, in the limits of the request. If the solver has an option for the
/// gap, sets it in the options of the request, too.
void set_gap(SolveRequest& request, double gap);

/// Sets the library that solves mixed-integer programs: highs or glpk. The options of the request must be set
/// before this call. Fails if the solver never uses such a library, or does not use one with these options.
Result<void> set_milp(SolveRequest& request, std::string_view library);

/// Returns the peak without recomputation and the bytes of residents. Shares in a budget refer to these
/// numbers.
StepBytes step_bytes(const FlatGraph& graph);

/// Solves the request. The returned schedule contains the options and the pins of the request. Errors: an
/// unknown solver or option, a share that is not a valid budget, pins that match nothing or contradict each
/// other, pins on a graph with a boundary or with collectives that have a queue, and the errors of
/// `copies_for` and of the `solve` that takes a solver.
Result<Outcome> solve(const Problem& problem, const SolveRequest& request, const Progress& progress = {});
Result<Outcome> solve(const Graph& graph, const SolveRequest& request, const Progress& progress = {});

}  // namespace rematlas
