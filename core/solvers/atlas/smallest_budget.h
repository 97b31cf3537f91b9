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

/// A search for the least peak, whatever the overhead: greedy schedules at bisected budgets, then annealing
/// at budgets a little below the least peak found. Takes up to `limits.time`; ends earlier at the proven
/// bound, or when several rounds found nothing more, or at a peak of at most `enough`. When the time does
/// not end it, equal seeds give equal answers.
SmallestBudget smallest_feasible(const FlatGraph& graph,
                                 const Limits& limits = {.time = std::chrono::seconds(1)},
                                 Bytes enough = Bytes(0));

/// The same, but if the step is a sequence of blocks, a part of the time goes to schedules of `rockmate` at
/// bisected budgets. With many blocks these go lower than annealing alone.
SmallestBudget smallest_feasible(const Problem& problem,
                                 const Limits& limits = {.time = std::chrono::seconds(1)},
                                 Bytes enough = Bytes(0));

}  // namespace rematlas
