// The least memory with which a step keeps a limit on its time.
//
//     Result<LeastBudget> found = least_budget({graph, flat}, {.limits = {.time = 60s}}, 1.10);
//     use(found->schedule.peak);     // the least peak found at +10 %
//     use(found->proven);            // bytes that every such schedule needs
//
// The search bisects over budgets: the overhead that a solver finds falls as the budget rises, and a bound
// above the overhead that is allowed proves that the budget is too small.
#pragma once

#include "core/planning/request.h"

namespace rematlas {

struct LeastBudget {
    Schedule schedule;  ///< the schedule with the least peak found, with the budget that led to it
    Bytes proven;       ///< every schedule within the time needs at least so many bytes
};

/// `max_overhead` is at least 1, a multiple of the time of the step without recomputation. The budget of the
/// request is ignored. The time limit of the request is for all solving together. Errors: those of `solve`;
/// no schedule keeps `max_overhead`.
Result<LeastBudget> least_budget(const Problem& problem, SolveRequest request, double max_overhead,
                                 const Progress& progress = {});

}  // namespace rematlas
