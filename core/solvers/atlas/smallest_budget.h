// The smallest budget for which a schedule is known.
#pragma once

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

struct SmallestBudget {
    Bytes peak;  ///< of `runs`: a budget that works
    RunSequence runs;
    bool proven = false;  ///< no schedule has a smaller peak
};

/// A search for the least peak, whatever the time it costs: greedy schedules at bisected budgets, then
/// annealing at budgets a little below the least peak found. Takes up to `limits.time`; ends earlier at the
/// proven bound, or when several rounds found nothing more, or at a peak of at most `enough`. When the time
/// does not end it, equal seeds give equal answers.
SmallestBudget smallest_feasible(const FlatGraph& graph,
                                 const Limits& limits = {.time = std::chrono::seconds(1)},
                                 Bytes enough = Bytes(0));

/// The same, in half of the time from the schedules of `rockmate` at bisected budgets where the step is a
/// sequence of blocks: with many blocks these go lower than annealing alone.
SmallestBudget smallest_feasible(const Problem& problem,
                                 const Limits& limits = {.time = std::chrono::seconds(1)},
                                 Bytes enough = Bytes(0));

}  // namespace rematlas
