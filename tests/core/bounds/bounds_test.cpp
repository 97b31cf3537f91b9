// Lower bounds must not be above the optimum that brute force finds, on any kind of graph.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "core/bounds/min_cut.h"
#include "core/bounds/one_moment.h"
#include "core/bounds/subset_sum.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Measures how near the bounds are to the optimum: 0 if a bound counts only one run of each required op, 1
/// if it is the optimum. The limits in the tests are only a little below the values of today.
struct Proven {
    int cases = 0;  ///< budgets at which the optimum reruns some op
    /// Sum over the cases of (bound - required) / (optimum - required). All three are times. `required` is
    /// the time of one run of each required op.
    double share = 0;
    double mean() const { return cases == 0 ? 0 : share / cases; }
};

void compare_with_brute_force(const Graph& graph, Proven& proven) {
    const FlatGraph flat = flatten(graph);
    if (flat.base_time == 0) return;
    const double base = static_cast<double>(flat.base_time);
    const std::int64_t least = brute_force_least_peak(flat),
                       most = cost_of(flat, keep_all_sequence(flat)).peak;
    std::int64_t required = 0;
    for (int op = 0; op < flat.op_count; ++op) required += flat.required[op] ? flat.time[op] : 0;
    for (std::int64_t budget = least; budget <= most;
         budget += std::max<std::int64_t>(1, (most - least) / 4)) {
        const auto optimum = brute_force(flat, budget);
        ASSERT_TRUE(optimum);
        for (int moments : {1, 20}) {
            const OverheadBound bound = overhead_lower_bound(
                flat, Bytes(budget), {.time = std::chrono::seconds(20), .moments = moments});
            EXPECT_LE(bound.overhead, optimum->time / base)
                << graph.name << " at " << budget << " with " << moments;
            EXPECT_GE(bound.overhead, required / base * (1 - 1e-12)) << graph.name << " at " << budget;
            if (optimum->time == required || moments == 1) continue;
            ++proven.cases;
            proven.share += (bound.overhead * base - required) / (optimum->time - required);
        }
    }
}

TEST(OneMomentBound, is_never_above_the_optimum_of_random_training_graphs) {
    Proven proven;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        compare_with_brute_force(random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 2)}),
                                 proven);
    }
    EXPECT_GT(proven.cases, 50);
    EXPECT_GT(proven.mean(), 0.74);
}

TEST(OneMomentBound, is_never_above_the_optimum_with_several_results) {
    Proven proven;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        compare_with_brute_force(
            random_training_graph(
                1000 + seed,
                {.forward_ops = 3, .several_outputs = false, .inplace = false, .run_once = false}),
            proven);
    }
    EXPECT_GT(proven.mean(), 0.79);
}

TEST(OneMomentBound, is_never_above_the_optimum_of_odd_graphs) {
    Proven proven;
    for (std::uint64_t seed = 1; seed <= 150; ++seed)
        compare_with_brute_force(random_odd_graph(seed, static_cast<int>(seed % 10)), proven);
}

TEST(OneMomentBound, is_never_above_the_best_known_overhead_of_the_problem_files) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    for (const ProblemFile& problem : problems) {
        const FlatGraph flat = flatten(problem.graph);
        for (const ProblemFile::Reference& reference : problem.references) {
            const OverheadBound bound = overhead_lower_bound(flat, reference.budget, {.moments = 4});
            EXPECT_LE(bound.overhead, reference.best_known + 1e-9)
                << problem.graph.name << " at " << reference.fraction;
        }
    }
}

TEST(OneMomentBound, returns_at_once_when_stopped) {
    const FlatGraph flat = flatten(random_training_graph(1, {.forward_ops = 200}));
    std::stop_source stop;
    stop.request_stop();
    const OverheadBound bound =
        overhead_lower_bound(flat, Bytes(flat.resident_bytes + 20), {.stop = stop.get_token()});
    EXPECT_EQ(bound.moments, 0);
    EXPECT_LE(bound.overhead, 1.0);
}

std::int64_t cut_value(MinCut& network) {
    return network.solve([] { return false; }).value;
}

TEST(MinCut, finds_the_least_cut) {
    MinCut network(4, 0, 3);
    const int edges[][3] = {{0, 1, 3}, {0, 2, 2}, {1, 2, 5}, {1, 3, 2}, {2, 3, 3}};
    for (const auto& [from, to, capacity] : edges) network.set_capacity(network.add_edge(from, to), capacity);
    EXPECT_EQ(cut_value(network), 5);
    network.set_capacity(4, 1);
    const MinCut::Cut cut = network.solve([] { return false; });
    EXPECT_EQ(cut.value, 3);
    EXPECT_EQ(cut.source_side, (std::vector<std::uint8_t>{1, 1, 1, 0}));
}

TEST(MinCut, says_that_it_was_stopped_and_is_then_not_above_the_least_cut) {
    std::mt19937 random(3);
    constexpr int nodes = 20'000;
    MinCut network(nodes, 0, nodes - 1);
    for (int from = 0; from < nodes - 1; ++from)
        for (int i = 0; i < 5; ++i)
            network.set_capacity(network.add_edge(from, std::min(nodes - 1, from + 1 + int(random() % 40))),
                                 static_cast<int>(random() % 1000));
    const MinCut::Cut stopped = network.solve([] { return true; });
    const MinCut::Cut finished = network.solve([] { return false; });
    EXPECT_FALSE(stopped.finished);
    EXPECT_TRUE(stopped.source_side.empty());
    EXPECT_TRUE(finished.finished);
    EXPECT_LE(stopped.value, finished.value);
}

/// Compares minimum cuts with an enumeration of all subsets of nodes.
TEST(MinCut, equals_enumeration_on_random_networks) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        const int nodes = 3 + static_cast<int>(random() % 6);
        MinCut network(nodes, 0, nodes - 1);
        std::vector<std::array<int, 3>> edges;
        for (int i = 0; i < 3 * nodes; ++i) {
            const std::array<int, 3> edge{static_cast<int>(random() % nodes),
                                          static_cast<int>(random() % nodes),
                                          static_cast<int>(random() % 10)};
            if (edge[0] == edge[1]) continue;
            edges.push_back(edge);
            network.set_capacity(network.add_edge(edge[0], edge[1]), edge[2]);
        }
        int least = 1 << 30;
        for (int side = 0; side < 1 << nodes; ++side) {
            if (!(side & 1) || (side >> (nodes - 1) & 1)) continue;
            int sum = 0;
            for (const auto& [from, to, capacity] : edges)
                sum += (side >> from & 1) && !(side >> to & 1) ? capacity : 0;
            least = std::min(least, sum);
        }
        EXPECT_EQ(cut_value(network), least);
    }
}

TEST(SubsetSum, is_the_largest_that_fits) {
    EXPECT_EQ(largest_subset_sum({6, 10, 15}, 20), 16);
    EXPECT_EQ(largest_subset_sum({6, 10, 15}, 31), 31);
    EXPECT_EQ(largest_subset_sum({6, 10, 15}, 100), 31);
    EXPECT_EQ(largest_subset_sum({6, 10, 15}, 5), 0);
    EXPECT_EQ(largest_subset_sum({}, 5), 0);
    EXPECT_EQ(largest_subset_sum({128, 64, 192}, 200), 192);
}

}  // namespace
}  // namespace rematlas
