// The bounds for schedules with copies must not be above the time of any schedule. The tests compare them
// with the best schedules of tiny graphs, found by exhaustive search, and with random schedules of larger
// graphs.
#include "core/bounds/two_sided_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/bounds/best_bound.h"
#include "core/bounds/first_order_lp.h"
#include "core/checking/check.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/brute_force_with_host.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/random_copying_schedule.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using std::chrono::seconds;

std::int64_t required_time(const FlatGraph& flat) {
    std::int64_t time = 0;
    for (int op = 0; op < flat.op_count; ++op) time += flat.required[op] ? flat.time[op] : 0;
    return time;
}

Device device_with(double to_host, double to_device) {
    return {.name = "",
            .memory = {},
            .links = {.to_host_bytes_per_second = to_host, .to_device_bytes_per_second = to_device}};
}

/// Measures how near the bounds are to the least time: 0 if a bound counts only one run of each required op,
/// 1 if it is the least time.
struct ProvenWithCopies {
    int cases = 0, met = 0, faster_with_copies = 0, slower_than_runs = 0;
    double share = 0;
    void add(std::int64_t bound, std::int64_t least, std::int64_t required) {
        if (least == required) return;
        ++cases;
        met += bound == least;
        share +=
            static_cast<double>(std::max(bound, required) - required) / static_cast<double>(least - required);
    }
    double mean() const { return cases == 0 ? 0 : share / cases; }
};

/// Tests that no multipliers prove a wrong bound: neither random multipliers nor those of a first-order
/// method.
void expect_programmes_below(const FlatGraph& flat, std::int64_t budget, const HostLinks& links,
                             std::int64_t least, const std::string& name) {
    std::mt19937_64 random(flat.tensor_count);
    for (const int moments : {1, 2, 0}) {
        for (const int margin_rows : {2, TwoSidedMoments::kAllMarginRows}) {
            const TwoSidedMoments relaxation(flat, budget, moment_chain(flat, budget, moments), links,
                                             margin_rows);
            ASSERT_FALSE(relaxation.impossible()) << name;
            const auto balance = [&](std::span<double> y) { relaxation.balance(y); };
            const DualBest found =
                solve_relaxation(relaxation.programme(), {.iterations = 300, .improve = balance});
            EXPECT_LE(relaxation.bound(found.value), least) << name << " with " << moments << " moments";
            std::vector<double> wild(relaxation.programme().rows());
            for (double& y : wild) y = random() % 3 == 0 ? 0 : static_cast<double>(random() % 1000) / 500;
            EXPECT_LE(relaxation.bound(dual_value(relaxation.programme(), wild)), least) << name;
            balance(wild);
            EXPECT_LE(relaxation.bound(dual_value(relaxation.programme(), wild)), least) << name;
        }
    }
}

/// Tries budgets from the largest footprint of an op to the peak without reruns.
void compare_with_exhaustive_search(const Graph& graph, const HostSearch& search, std::int64_t step,
                                    ProvenWithCopies& proven) {
    const FlatGraph flat = flatten(graph);
    const HostLinks links = fastest_of(graph.device->links);
    const std::int64_t required = required_time(flat), most = cost_of(flat, keep_all_sequence(flat)).peak;
    for (std::int64_t budget = least_peak(flat).bytes.value; budget < most; budget += step) {
        const auto best = brute_force_with_host(graph, budget, search);
        const auto without = brute_force(flat, budget);
        if (!best && !without) continue;
        const std::int64_t least = std::min(best.value_or(std::numeric_limits<std::int64_t>::max()),
                                            without ? without->time : *best);
        const std::string name = graph.name + " at " + std::to_string(budget);
        const ProvenBound bound = best_bound(flat, Bytes(budget), {.time = seconds(60), .host = links});
        EXPECT_LE(bound.time, least) << name;
        EXPECT_GE(bound.time, required) << name;
        expect_programmes_below(flat, budget, links, least, name);
        proven.faster_with_copies += !without || least < without->time;
        proven.slower_than_runs += without && without->time > least && least > required;
        proven.add(bound.time, least, required);
    }
}

constexpr double kSpeeds[] = {0.03e9, 0.2e9, 0.5e9, 1e9, 3e9};

TEST(TwoSidedMoments, are_never_above_the_best_schedule_of_tiny_graphs) {
    ProvenWithCopies proven;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        Graph graph = seed % 8 == 0 ? random_odd_graph(seed, 5)
                      : seed % 8 == 1
                          ? random_training_graph(seed, {.forward_ops = 2, .several_outputs = false})
                          : random_chain(seed, 3, seed % 2 == 0);
        if (graph.tensors.size() > 8) continue;
        graph.device = device_with(kSpeeds[seed / 8 % 5], kSpeeds[seed / 8 / 5 % 5]);
        compare_with_exhaustive_search(graph, {}, 3, proven);
    }
    EXPECT_GT(proven.cases, 100);
    EXPECT_GT(proven.faster_with_copies, 50);
    EXPECT_GT(proven.slower_than_runs, 20);
    EXPECT_GT(proven.mean(), 0.8);
}

TEST(TwoSidedMoments, are_never_above_the_best_schedule_whenever_tensors_leave) {
    ProvenWithCopies proven;
    for (std::uint64_t seed = 1001; seed <= 1200; ++seed) {
        Graph graph = seed % 3 == 0 ? random_odd_graph(seed, 4) : random_chain(seed, 2 + seed % 2, true);
        if (graph.tensors.size() > 8) continue;
        graph.device = device_with(kSpeeds[seed % 5], kSpeeds[seed / 5 % 5]);
        compare_with_exhaustive_search(graph, {.at_any_time = true, .states = 30'000}, 4, proven);
    }
    EXPECT_GT(proven.cases, 30);
    EXPECT_GT(proven.mean(), 0.75);
}

/// Tests random schedules: the bound at the peak of a schedule must not be above the time of the schedule.
void expect_random_play_above(const Graph& graph, int schedules, bool activations_only, int& copies) {
    const FlatGraph flat = flatten(graph);
    HostLinks links = fastest_of(graph.device->links);
    for (int i = 0; i < schedules; ++i) {
        Schedule schedule;
        schedule.steps = random_copying_schedule(graph, static_cast<std::uint64_t>(i));
        const CheckReport report = check(graph, schedule);
        ASSERT_TRUE(report.ok()) << graph.name << ": " << report.violations.front();
        const bool residents_left = std::any_of(
            schedule.steps.begin(), schedule.steps.end(),
            [&](const Step& step) { return step.kind == StepKind::offload && flat.producer[step.id] < 0; });
        links.activations_only = activations_only && !residents_left;
        copies += class_of(schedule.steps) == ScheduleClass::with_copies;
        const ProvenBound bound = best_bound(flat, report.peak, {.time = seconds(60), .host = links});
        EXPECT_LE(bound.time, report.time.value) << graph.name << ", schedule " << i;
        expect_programmes_below(flat, report.peak.value, links, report.time.value, graph.name);
    }
}

TEST(TwoSidedMoments, are_never_above_a_schedule_made_at_random) {
    int copies = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        Graph graph = seed % 3 == 0 ? random_odd_graph(seed, 5 + static_cast<int>(seed % 12))
                      : seed % 3 == 1
                          ? random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 5)})
                          : random_chain(seed, 4 + static_cast<int>(seed % 6), true);
        if (graph.ops.empty()) continue;
        graph.device = device_with(kSpeeds[seed % 5], kSpeeds[seed / 5 % 5]);
        expect_random_play_above(graph, 6, seed % 2 == 0, copies);
    }
    EXPECT_GT(copies, 400);
}

TEST(TwoSidedMoments, need_no_links) {
    const FlatGraph flat = flatten(random_chain(4, 5, true));
    const std::int64_t budget = brute_force_least_peak(flat);
    const ProvenBound without_links =
        best_bound(flat, Bytes(budget), {.time = seconds(60), .host = HostLinks{}});
    EXPECT_LE(without_links.time, brute_force(flat, budget)->time);
    EXPECT_GT(without_links.time, required_time(flat));
}

/// The copies to the host must end before the moment with the most memory, and the copies back come after it.
/// So the bound is above 1 although each link could copy all bytes within the step's time.
TEST(TwoSidedMoments, prove_more_than_the_busy_time_of_each_link) {
    Graph graph = long_chain(ChainKind::equal, 24);
    for (Op& op : graph.ops) op.recomputable = false;
    const FlatGraph flat = flatten(graph);
    const Bytes budget(cost_of(flat, keep_all_sequence(flat)).peak * 3 / 10);
    std::int64_t bytes = 0;
    for (int t = 0; t < flat.tensor_count; ++t) bytes += flat.bytes[t];
    // In each direction, the link could copy all bytes in two thirds of the time of the step.
    const double speed = 1.5e9 * static_cast<double>(bytes) / static_cast<double>(flat.base_time);
    const ProvenBound bound =
        best_bound(flat, budget, {.time = seconds(60), .host = HostLinks{speed, speed}});
    EXPECT_GT(bound.overhead, 1.0);
}

}  // namespace
}  // namespace rematlas
