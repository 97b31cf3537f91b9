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
    /// What may be copied to the host. Links that copy nothing stand for those of the graph's device, and no
    /// budget of the host for the memory of the graph's host, where that is known.
    Copies copies = {};
};

/// With the graph's links, and the memory of its host, where there are no others. Errors: no links are known,
/// or the solver copies no such things.
Result<Copies> copies_for(const Graph& graph, std::string_view solver, Copies copies);

/// The gap at which the search ends, of solvers that have an option for it too.
void set_gap(SolveRequest& request, double gap);

/// The library of a solver of mixed-integer programmes: highs or glpk. Errors: a solver that uses none, at
/// all or with the options of the request, which must stand in it already.
Result<void> set_milp(SolveRequest& request, std::string_view library);

/// What shares of a budget are of.
StepBytes step_bytes(const FlatGraph& graph);

/// The schedule has the options in its `config`, and the pins. Errors: an unknown solver or option, a share
/// that is no budget, pins that match nothing or contradict each other, and those of `copies_for` and of
/// `solve` with a solver at hand.
Result<Outcome> solve(const Problem& problem, const SolveRequest& request, const Progress& progress = {});
Result<Outcome> solve(const Graph& graph, const SolveRequest& request, const Progress& progress = {});

}  // namespace rematlas
