// Compares the plans that are made from solvers' answers with recorded plans: see recorded.h.
#include <gtest/gtest.h>

#include "core/planning/request.h"
#include "tests/core/support/graphs_of_each_kind.h"
#include "tests/core/support/recorded.h"

namespace rematlas {
namespace {

TEST(RecordedPlans, InArenas) {
    Recorded recorded(__FILE__, "recorded_arenas");
    for (const GraphOfAKind& of : graphs_of_each_kind())
        for (const char* solver : {"rotor", "dtr"})
            for (const Bytes budget : of.budgets) {
                const std::string what = of.name + " in " + std::to_string(budget.value) + " B by " + solver;
                const Result<Outcome> outcome =
                    solve(Problem{of.graph, of.flat}, {.solver = solver,
                                                       .budget = budget,
                                                       .arena = true,
                                                       .limits = {.time = std::chrono::hours(10)}});
                ASSERT_TRUE(outcome) << outcome.error().message;
                if (const Schedule* schedule = outcome->schedule())
                    recorded.expect(what, schedule->overhead, schedule->peak.value, "B in",
                                    schedule->addresses->arena.value, "B", digest(schedule->steps));
                else
                    recorded.expect(what, "not found");
            }
}

}  // namespace
}  // namespace rematlas
