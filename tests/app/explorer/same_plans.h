// Compares the plans of session files.
#pragma once

#include <algorithm>

#include "app/explorer/files/plan_journal.h"

namespace rematlas::explorer {

inline bool same_plans(const KeptPlans& a, const KeptPlans& b) {
    return a.shown == b.shown && std::equal(a.plans.begin(), a.plans.end(), b.plans.begin(), b.plans.end(),
                                            [](const PlanRow& x, const PlanRow& y) {
                                                return x.key == y.key && x.name == y.name &&
                                                       x.starred == y.starred && x.origin == y.origin &&
                                                       x.schedule->steps == y.schedule->steps;
                                            });
}

}  // namespace rematlas::explorer
