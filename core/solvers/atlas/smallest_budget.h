// Finds the smallest budget for which a schedule is known.
#pragma once

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

struct SmallestBudget {
    Bytes peak;  ///< peak of `runs`, and so a budget that suffices
    RunSequence runs;
    bool proven = false;  ///< whether it is proven that no schedule has a smaller peak
};

/// Searches for the least peak, whatever the overhead: by greedy schedules at bisected budgets, then by
/// annealing at budgets a little below the least peak found so far. Takes up to `limits.time`. Ends earlier
/// when the peak is at most `enough` or equals the proven bound, or when several rounds have found nothing
/// more. If the time does not end the search, equal seeds give equal answers.
SmallestBudget smallest_feasible(const FlatGraph& graph,
                                 const Limits& limits = {.time = std::chrono::seconds(1)},
                                 Bytes enough = Bytes(0));

/// Like the overload above, but also tries schedules of `rockmate` at bisected budgets, for a part of the
/// time, if the step is a sequence of blocks. With many blocks, these schedules have smaller peaks than
/// annealing finds.
SmallestBudget smallest_feasible(const Problem& problem,
                                 const Limits& limits = {.time = std::chrono::seconds(1)},
                                 Bytes enough = Bytes(0));

}  // namespace rematlas
