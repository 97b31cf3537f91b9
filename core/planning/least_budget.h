// The least memory at which a step takes no more than so much time.
//
//     Result<LeastBudget> found = least_budget({graph, flat}, {.limits = {.time = 60s}}, 1.10);
//     found->schedule.peak      // the least peak found at +10 %
//     found->proven             // what every such schedule needs
//
// The search bisects over budgets: the overhead that a solver finds falls as the budget rises, and a bound
// above the overhead that is allowed proves that the budget is too small.
#pragma once

#include "core/planning/request.h"

namespace rematlas {

struct LeastBudget {
    Schedule schedule;  ///< the one with the least peak that was found; its budget is the one that led to it
    Bytes proven;       ///< every schedule that takes no more time needs at least as many bytes
};

/// `max_overhead`: at least 1, of the time of the step without recomputation. The budget of the request is
/// ignored; its time is for all solving together. Errors: those of `solve`.
Result<LeastBudget> least_budget(const Problem& problem, SolveRequest request, double max_overhead,
                                 const Progress& progress = {});

}  // namespace rematlas
