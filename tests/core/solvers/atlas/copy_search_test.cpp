// What holds for every answer of atlas with copies to the host.
#include "core/solvers/atlas/copy_search.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/checking/check.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/brute_force_with_host.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using std::chrono::hours;

constexpr AnnealingOptions kBrief{.max_moves = 6000, .first_cycle = 1000};

Copies activations_over(const Graph& graph) {
    return {.what = Offload::activations, .links = graph.device->links};
}

/// The checked answer; none where nothing was found.
std::optional<Schedule> solve_checked(const Graph& graph, Bytes budget, const Copies& copies,
                                      const AnnealingOptions& options = kBrief) {
    const FlatGraph flat = flatten(graph);
    const Result<Outcome> outcome =
        solve(Problem{graph, flat, copies}, *make_atlas(options), budget, {.time = hours(1)});
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome || !outcome->schedule()) return std::nullopt;
    return *outcome->schedule();
}

Graph linked(Graph graph, Links links) {
    graph.device = Device{.name = "d", .memory = {}, .links = links};
    return graph;
}

Bytes between(const FlatGraph& flat, double share) {
    const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
    return Bytes(least + static_cast<std::int64_t>(share * static_cast<double>(most - least)));
}

/// Residents without bytes, so that the exhaustive search has nothing to gain from sending these away.
Graph without_resident_bytes(Graph graph) {
    const auto producer = producers(graph);
    for (TensorId t : graph.tensors.ids())
        if (!producer[t].valid()) graph.tensors[t].bytes = Bytes(0);
    return graph;
}

TEST(AtlasWithCopies, FindsTheBestScheduleOfTinyGraphs) {
    constexpr double kSpeeds[] = {2e8, 5e8, 1e9, 3e9};
    int cases = 0, optimal = 0, copied = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Links links{.to_host_bytes_per_second = kSpeeds[seed % 4],
                          .to_device_bytes_per_second = kSpeeds[seed / 4 % 4]};
        const Graph graph =
            linked(without_resident_bytes(random_chain(seed, 2 + static_cast<int>(seed % 2), true)), links);
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, 0.3);
        const auto optimum =
            brute_force_with_host(graph, budget.value, {.at_any_time = true, .states = 60'000});
        const std::optional<Schedule> found = solve_checked(graph, budget, activations_over(graph));
        if (!optimum) continue;
        ASSERT_TRUE(found) << graph.name;
        EXPECT_GE(found->time.value, *optimum) << graph.name;
        ++cases;
        optimal += found->time.value == *optimum;
        copied += class_of(found->steps) == ScheduleClass::with_copies;
    }
    RecordProperty("cases", cases);
    EXPECT_GT(cases, 30);
    EXPECT_GT(copied, 5);
    EXPECT_GE(optimal, cases * 9 / 10) << "of " << cases;
}

TEST(AtlasWithCopies, AnswersPassTheCheckerOverLinksOfEveryKind) {
    int copied = 0, found = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Graph graph = seed % 3 == 0 ? random_odd_graph(seed, 6 + static_cast<int>(seed % 20))
                      : seed % 3 == 1
                          ? random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 8)})
                          : random_chain(seed, 4 + static_cast<int>(seed % 8));
        graph.device = random_graph_with_links(seed).device;
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, 0.1 * static_cast<double>(seed % 7));
        Copies copies = activations_over(graph);
        if (seed % 5 == 0) copies.host_budget = Bytes(10);
        const auto schedule = solve_checked(graph, budget, copies, {.max_moves = 3000, .first_cycle = 500});
        if (!schedule) continue;
        ++found;
        copied += class_of(schedule->steps) == ScheduleClass::with_copies;
        EXPECT_TRUE(check(graph, *schedule, budget).ok());
    }
    EXPECT_GT(found, 30);
    EXPECT_GT(copied, 10);
}

TEST(AtlasWithCopies, ResidentsThatLiveOnTheHostPassTheChecker) {
    int found = 0, at_home_there = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, seed % 2 == 0 ? -0.2 : 0.3);
        const Copies copies{.what = seed % 3 == 0 ? Offload::weights : Offload::all,
                            .links = graph.device->links};
        const auto schedule = solve_checked(graph, budget, copies, {.max_moves = 3000, .first_cycle = 500});
        if (!schedule) continue;
        ++found;
        at_home_there += !schedule->homes.on_host.empty();
    }
    EXPECT_GT(found, 15);
    EXPECT_GT(at_home_there, 10);
}

TEST(AtlasWithCopies, StreamsOptimizerStatesThroughLessThanTheyTake) {
    GptShape shape = gpt2_xl_with_adamw();
    shape.layers = 3;
    shape.width = 256;
    shape.heads = 4;
    shape.vocabulary = 2000;
    shape.batch = 1;
    const Graph graph =
        linked(gpt_graph(shape), {.to_host_bytes_per_second = 55e9, .to_device_bytes_per_second = 55e9});
    const FlatGraph flat = flatten(graph);
    const Bytes budget(flat.resident_bytes);
    EXPECT_FALSE(solve_checked(graph, budget, activations_over(graph)));
    const auto with = solve_checked(graph, budget, {.what = Offload::all, .links = graph.device->links},
                                    {.max_moves = 60'000, .first_cycle = 5000});
    ASSERT_TRUE(with);
    EXPECT_LT(with->peak, budget + Bytes(1));
    EXPECT_GT(with->homes.on_host.size(), 10u);
    EXPECT_LT(with->overhead, 3);
    RecordProperty("overhead", std::to_string(with->overhead));
}

TEST(AtlasWithCopies, IsNeverWorseThanWithout) {
    int better = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Graph graph = random_training_graph(seed, {.forward_ops = 6 + static_cast<int>(seed)});
        graph.device = random_graph_with_links(seed).device;
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, 0.4);
        const auto with = solve_checked(graph, budget, activations_over(graph));
        const auto without = solve_checked(graph, budget, {});
        if (!without) continue;
        ASSERT_TRUE(with);
        EXPECT_LE(with->time, without->time) << graph.name;
        better += with->time < without->time;
    }
    EXPECT_GT(better, 2);
}

TEST(AtlasWithCopies, FastLinksTakeTheRecomputationAway) {
    const Graph graph = linked(gpt_graph({.layers = 2}),
                               {.to_host_bytes_per_second = 1e12, .to_device_bytes_per_second = 1e12});
    const Bytes budget = between(flatten(graph), 0.5);
    const auto with = solve_checked(graph, budget, activations_over(graph));
    const auto without = solve_checked(graph, budget, {});
    ASSERT_TRUE(with && without);
    EXPECT_GT(without->overhead, 1.02);
    EXPECT_LT(with->overhead, 1.002);
}

TEST(AtlasWithCopies, SweepsNeverRiseWithTheBudget) {
    Graph graph = random_training_graph(4, {.forward_ops = 12});
    graph.device = random_graph_with_links(4).device;
    const FlatGraph flat = flatten(graph);
    std::vector<Bytes> budgets;
    for (const double share : {0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0}) budgets.push_back(between(flat, share));
    const Result<Sweep> sweep = run_sweep(graph, {.solvers = {"atlas"},
                                                  .budgets = budgets,
                                                  .limits = {.time = std::chrono::seconds(3)},
                                                  .copies = {.what = Offload::activations}});
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->offload, Offload::activations);
    double before = std::numeric_limits<double>::infinity();
    bool copies = false;
    for (const SweepPoint& point : sweep->curves.front().points) {
        if (point.status == "infeasible") continue;
        EXPECT_LE(point.overhead, before);
        before = point.overhead;
        EXPECT_LE(point.peak, point.budget);
        copies = copies || class_of(point.steps) == ScheduleClass::with_copies;
        const Result<Simulation> played = simulate(graph, point.steps, point.homes);
        ASSERT_TRUE(played) << played.error().message;
        EXPECT_EQ(played->peak, point.peak);
    }
    EXPECT_TRUE(copies);
    EXPECT_EQ(parse_sweep(sweep_text(*sweep), "s")->offload, Offload::activations);
}

TEST(AtlasWithCopies, EqualSeedsGiveEqualAnswers) {
    Graph graph = random_training_graph(8, {.forward_ops = 14});
    graph.device = random_graph_with_links(3).device;
    const Bytes budget = between(flatten(graph), 0.2);
    const auto once = solve_checked(graph, budget, activations_over(graph));
    const auto again = solve_checked(graph, budget, activations_over(graph));
    ASSERT_TRUE(once && again);
    EXPECT_EQ(once->steps, again->steps);
}

TEST(AtlasWithCopies, AnswersTooSmallBudgetsWithWhatEveryScheduleNeeds) {
    const Graph graph =
        linked(random_chain(3, 6), {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9});
    const FlatGraph flat = flatten(graph);
    const Bytes least = least_peak(flat).bytes;
    const Result<Outcome> outcome = solve(Problem{graph, flat, activations_over(graph)}, *make_atlas(kBrief),
                                          least - Bytes(1), {.time = hours(1)});
    ASSERT_TRUE(outcome && outcome->infeasible());
    EXPECT_TRUE(outcome->infeasible()->proven);
    EXPECT_EQ(outcome->infeasible()->needed, least);
    EXPECT_EQ(outcome->infeasible()->over, ScheduleClass::with_activation_copies);
}

}  // namespace
}  // namespace rematlas
