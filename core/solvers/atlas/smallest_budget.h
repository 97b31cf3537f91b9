// The smallest budget for which a schedule is known.
#pragma once

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/solver.h"

namespace rematlas {

struct SmallestBudget {
    Bytes peak;         ///< of `runs`: a budget that works
    RunSequence runs;
    bool proven = false;  ///< no schedule has a smaller peak
};

/// A search for the least peak, whatever the time it costs: annealing at the proven lower bound first, then at budgets between it and the
/// least peak found. Takes up to `limits.time`, less when the bound is met; one second is enough for most graphs.
SmallestBudget smallest_feasible(const FlatGraph& graph, const Limits& limits = {.time = std::chrono::seconds(1)});

}  // namespace rematlas
