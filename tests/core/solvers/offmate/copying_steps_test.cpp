// Tests the code that writes the steps with copies for a given set of offloaded tensors. The independent
// checker must accept the steps, and they must take the predicted time.
#include "core/solvers/offmate/copying_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/checking/check.h"
#include "core/solvers/offmate/away_programme.h"
#include "core/solvers/offmate/copying_plan.h"
#include "core/solving/copies.h"
#include "tests/core/support/random_copies.h"

namespace rematlas::offmate {
namespace {

struct Written {
    int steps = 0, copying = 0, on_host = 0;
};

void expect_right(const Graph& graph, const FlatGraph& flat, const Lifetimes& lives,
                  const std::vector<char>& away, std::int64_t budget, Written& written) {
    for (const bool eager : {true, false}) {
        const Emitted emitted = copying_steps(
            graph, flat, lives, away, {.links = graph.device->links, .budget = budget, .eager = eager});
        const std::string what = graph.name + " at " + std::to_string(budget);
        ASSERT_TRUE(emitted.fits) << what;
        Schedule schedule;
        schedule.graph_sha256 = graph.sha256;
        schedule.steps = emitted.steps;
        schedule.homes = emitted.homes;
        const CheckReport report = check(graph, schedule, Bytes(budget));
        ASSERT_TRUE(report.ok()) << what << ": " << report.violations.front();
        EXPECT_EQ(report.time.value, emitted.time) << what;
        ++written.steps;
        written.copying += class_of(emitted.steps) == ScheduleClass::with_copies;
        written.on_host += class_of(emitted.steps) == ScheduleClass::with_host_ops;
    }
}

/// Tests two sets of offloaded tensors at each budget: `mend` chooses one of them, and the integer program
/// chooses the other. The largest budget is the peak that remains when as few tensors as possible leave the
/// device. The budgets then fall until `mend` finds no set that keeps the budget.
void expect_right_at_all_budgets(const Graph& graph, Offload what, bool host_ops, Written& written) {
    const FlatGraph flat = flatten(graph);
    ASSERT_TRUE(optimizer_is_last(graph, flat));
    std::vector<char> on_host(graph.ops.size(), 0);
    for (OpId op : graph.ops.ids()) on_host[op.index()] = host_ops && graph.ops[op].host_time.has_value();
    const RunSequence runs = required_once(without_optimizer(graph, flat));
    const Lifetimes lives(graph, flat, with_optimizer(graph, flat, runs, on_host),
                          MayLeave(graph, {.what = what}));
    const std::vector<std::int64_t> memory = lives.memory(lives.least_away());
    const std::int64_t most = *std::max_element(memory.begin(), memory.end());
    for (std::int64_t budget = most; budget > 0; budget -= 1 + most / 8) {
        std::vector<char> by_weight = lives.least_away();
        if (!mend(flat, lives, budget, 0, by_weight)) return;
        expect_right(graph, flat, lives, by_weight, budget, written);
        if (milp_libraries().empty()) continue;
        const AwayProgramme programme(flat, lives, {.links = graph.device->links, .budget = budget});
        const Result<MilpAnswer> solved = solve_milp(milp_libraries().front(), programme.milp());
        ASSERT_TRUE(solved);
        if (solved->values.empty()) continue;
        std::vector<char> rounded = programme.rounded(solved->values);
        ASSERT_TRUE(mend(flat, lives, budget, 0, rounded));
        expect_right(graph, flat, lives, rounded, budget, written);
    }
}

TEST(CopyingSteps, ArePossibleAndKeepTheBudgetOnRandomGraphs) {
    Written written;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        expect_right_at_all_budgets(graph, Offload::activations, false, written);
        for (const Offload what : {Offload::weights, Offload::all})
            for (const bool host_ops : {false, true})
                expect_right_at_all_budgets(graph, what, host_ops, written);
    }
    EXPECT_GT(written.steps, 4500);
    EXPECT_GT(written.copying, 1400);
    EXPECT_GT(written.on_host, 1000);
}

}  // namespace
}  // namespace rematlas::offmate
