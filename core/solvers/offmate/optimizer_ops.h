// Steps with an optimizer, planned in two parts: what is forward and backward first, by solvers that know
// nothing of residents that change, then each op of the optimizer put in as early as it may run.
//
//     const FlatGraph part = without_optimizer(graph, flat);
//     const RunSequence runs = ...;                                  // of `part`, with reruns
//     std::vector<PlacedRun> step = with_optimizer(graph, flat, runs, on_host);
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::offmate {

struct PlacedRun {
    std::int32_t op = -1;
    bool on_host = false;
    bool operator==(const PlacedRun&) const = default;
};

/// Whether nothing but the optimizer comes after the optimizer: what its ops make or change, only they read
/// behind them in the graph. Else the graph's order is the only one that this folder plans.
bool optimizer_is_last(const Graph& graph, const FlatGraph& flat);

/// The same graph with no required op of the optimizer. What these read is a result; where it is none of the
/// whole graph it has no bytes, for an update follows at once as a rule.
FlatGraph without_optimizer(const Graph& graph, const FlatGraph& flat);

/// All of `runs`, and each required op of the optimizer after all that it reads was made, after all runs that
/// read what it changes, and no later. `on_host`: by op. `runs` must be executable. Cost: linear.
std::vector<PlacedRun> with_optimizer(const Graph& graph, const FlatGraph& flat, const RunSequence& runs,
                                      const std::vector<char>& on_host);

}  // namespace rematlas::offmate
