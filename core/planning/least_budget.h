// Finds the least memory with which a training step keeps a limit on its time.
//
//     Result<LeastBudget> found = least_budget({graph, flat}, {.limits = {.time = 60s}}, 1.10);
//     use(found->schedule.peak);     // the least peak found at +10 %
//     use(found->proven);            // bytes that every schedule at +10 % needs
//
// The search bisects over budgets, because the overhead that a solver finds falls as the budget rises. If the
// bound at a budget is above the overhead limit, the budget is proven to be too small.
#pragma once

#include "core/planning/request.h"

namespace rematlas {

struct LeastBudget {
    Schedule schedule;  ///< the schedule with the least peak found, with the budget that led to it
    Bytes proven;       ///< every schedule within the time limit needs at least this many bytes
};

/// Searches for the least budget. `max_overhead` must be at least 1; it is the limit on the time, as a
/// multiple of the time of the step without recomputation. The budget of the request is ignored. The time
/// limit of the request is for all solving together. Fails if `solve` fails, or if no schedule is within
/// `max_overhead`.
Result<LeastBudget> least_budget(const Problem& problem, SolveRequest request, double max_overhead,
                                 const Progress& progress = {});

}  // namespace rematlas
