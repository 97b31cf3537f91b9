// What people ask of a solver, in the command line, the explorer and Python alike, and the checked answer.
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
    std::shared_ptr<const nlohmann::json> options = {};  ///< of the solver, as in a Config; null: defaults
    Budget budget = {};
    bool arena = false;  ///< the budget bounds the arena of planned addresses (solve_in_arena.h)
    Limits limits = {};
    Pins pins = {};  ///< what the schedule must obey (core/schedule/pin.h)
    /// The copies to the host that are allowed. Links that do not copy both ways stand for the links of the
    /// graph's device. An absent host budget stands for the memory of the graph's host, if that is known.
    Copies copies = {};
};

/// `copies` with the links of the graph's device and the memory of its host, where `copies` has none.
/// Errors: no links are known, or the solver does not plan such copies.
Result<Copies> copies_for(const Graph& graph, std::string_view solver, Copies copies);

/// Sets the gap at which the search ends, also in the options of a solver that has an option for it.
void set_gap(SolveRequest& request, double gap);

/// Sets the library that solves mixed-integer programmes: highs or glpk. The options of the request must be
/// set before this call. Errors: the solver uses no such library, or does not with these options.
Result<void> set_milp(SolveRequest& request, std::string_view library);

/// The peak without recomputation and the bytes of residents: shares in a budget refer to these.
StepBytes step_bytes(const FlatGraph& graph);

/// Solves what the request asks for. The schedule keeps the options of the request in its `config`, and the
/// pins. Errors: an unknown solver or option, a share that is no budget, pins that match nothing or
/// contradict each other, pins on a graph with a boundary, and those of `copies_for` and of the `solve` that
/// takes a solver.
Result<Outcome> solve(const Problem& problem, const SolveRequest& request, const Progress& progress = {});
Result<Outcome> solve(const Graph& graph, const SolveRequest& request, const Progress& progress = {});

}  // namespace rematlas
