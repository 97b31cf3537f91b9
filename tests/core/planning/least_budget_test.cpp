#include "core/planning/least_budget.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

/// Returns a request whose search ends after a number of moves, not by time.
SolveRequest request() {
    return {.options = std::make_shared<const nlohmann::json>(
                nlohmann::json{{"max_moves", 20'000}, {"first_cycle", 2000}}),
            .limits = {.time = 1h}};
}

/// Returns the least budget at which some schedule is within the overhead limit.
std::int64_t least_by_brute_force(const FlatGraph& flat, double max_overhead) {
    std::int64_t too_small = brute_force_least_peak(flat) - 1, enough = keep_all_peak(flat).value;
    while (enough - too_small > 1) {
        const std::int64_t middle = (too_small + enough) / 2;
        const auto best = brute_force(flat, middle);
        const bool is_fast =
            best && static_cast<double>(best->time) <= max_overhead * static_cast<double>(flat.base_time);
        (is_fast ? enough : too_small) = middle;
    }
    return enough;
}

TEST(LeastBudget, IsThatOfTheBruteForceOnSmallGraphs) {
    int exact = 0, below_the_peak = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 3});
        const FlatGraph flat = flatten(graph);
        for (const double most : {1.0, 1.15, 1.5, 100.0}) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", at most " + std::to_string(most));
            const Result<LeastBudget> found = least_budget({graph, flat}, request(), most);
            ASSERT_TRUE(found) << found.error().message;
            EXPECT_TRUE(check(graph, found->schedule).ok());
            EXPECT_LE(found->schedule.overhead, most * (1 + 1e-12));
            const std::int64_t least = least_by_brute_force(flat, most);
            EXPECT_LE(found->proven.value, least);
            EXPECT_GE(found->schedule.peak.value, least);
            exact += found->schedule.peak.value == least;
            below_the_peak += least < keep_all_peak(flat).value;
        }
    }
    EXPECT_GT(below_the_peak, 60);
    EXPECT_GE(exact, 114) << "of 120";
}

TEST(LeastBudget, FallsAsMoreTimeIsAllowed) {
    const Graph graph = random_training_graph(7, {.forward_ops = 12});
    const FlatGraph flat = flatten(graph);
    Bytes before = keep_all_peak(flat);
    for (const double most : {1.0, 1.2, 1.5, 2.0, 4.0}) {
        const Result<LeastBudget> found = least_budget({graph, flat}, request(), most);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_LE(found->proven, found->schedule.peak);
        EXPECT_LE(found->schedule.peak.value, before.value + before.value / 100);
        before = found->schedule.peak;
    }
    EXPECT_LT(before, keep_all_peak(flat));
}

TEST(LeastBudget, PassesErrorsOn) {
    const Graph graph = random_training_graph(7, {.forward_ops = 3});
    SolveRequest wrong = request();
    wrong.solver = "atlantis";
    wrong.options = nullptr;
    const Result<LeastBudget> found = least_budget({graph, flatten(graph)}, wrong, 1.1);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("atlantis"), std::string::npos);
}

}  // namespace
}  // namespace rematlas
