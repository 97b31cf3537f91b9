#include "core/pins/pinned_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/bounds/best_bound.h"
#include "core/bounds/least_memory.h"
#include "core/checking/check_pins.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// Returns pins on up to three ops of a graph, of both kinds. The pins can contradict each other.
Pins some_pins(const Graph& graph, std::uint64_t seed, bool may_recompute = true) {
    std::mt19937_64 random(seed);
    Pins pins;
    for (std::uint64_t i = 0; i <= random() % 3; ++i) {
        const auto op = random() % graph.ops.size();
        const bool again = may_recompute && random() % 2 == 0;
        pins.push_back({"#" + std::to_string(op), again ? PinKind::recompute : PinKind::keep});
    }
    return pins;
}

/// Returns the least time of a schedule of the original that obeys the pins, by exhaustive search.
std::optional<Optimum> optimum_under(const Graph& graph, const PinnedOps& pinned, std::int64_t budget) {
    FlatGraph flat = flatten(graph);
    Forgotten forgotten{.op = pinned.loss.value};
    for (TensorId t : graph.tensors.ids())
        if (pinned.made_again[t]) forgotten.tensors.push_back(t.value);
    for (OpId op : graph.ops.ids())
        if (pinned.keep[op] && flat.required[op.index()]) flat.recomputable[op.index()] = 0;
    return brute_force(flat, budget, forgotten);
}

TEST(PinnedStep, OfKeepPinsIsTheGraphWithOpsThatRunOnce) {
    const Graph graph = gpt_graph({.layers = 1});
    const Result<PinnedStep> step = pinned_step(graph, {{"#3", PinKind::keep}});
    ASSERT_TRUE(step);
    EXPECT_TRUE(step->exact);
    EXPECT_EQ(step->graph.ops.size(), graph.ops.size());
    for (OpId op : graph.ops.ids())
        EXPECT_EQ(step->graph.ops[op].recomputable, graph.ops[op].recomputable && op != OpId(3));
}

TEST(PinnedStep, WithCopiesIsAValidGraph) {
    const Graph gpt = gpt_graph({.layers = 2});
    const Result<PinnedStep> all = pinned_step(gpt, {{"*", PinKind::recompute}});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_TRUE(validate(all->graph));
    EXPECT_GT(all->graph.ops.size(), gpt.ops.size() + 30);
    int copied = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 8, .run_once = false});
        const Result<PinnedStep> step = pinned_step(graph, some_pins(graph, seed));
        if (!step) continue;
        const Result<void> valid = validate(step->graph);
        EXPECT_TRUE(valid) << seed << ": " << valid.error().message;
        copied += step->graph.ops.size() > graph.ops.size();
    }
    EXPECT_GT(copied, 50);
}

TEST(PinnedStep, WhatRunsOnItObeysThePinsOnTheOriginalWithNoMoreMemory) {
    int played = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 8, .run_once = false});
        const Pins pins = some_pins(graph, seed);
        const Result<PinnedStep> step = pinned_step(graph, pins);
        if (!step) continue;
        const FlatGraph flat = flatten(graph);
        const RunSequence copies = keep_all_sequence(step->flat);
        const Bytes peak = keep_all_peak(step->flat);
        const RunSequence runs = on_original(*step, flat, copies, peak);
        ASSERT_TRUE(is_executable(flat, runs)) << seed;
        EXPECT_LE(cost_of(flat, runs).peak, peak.value) << seed;
        EXPECT_LE(cost_of(flat, runs).time, step->flat.base_time) << seed;
        EXPECT_THAT(broken_pins(graph, lower(flat, runs), pins), testing::IsEmpty()) << seed;
        ++played;
    }
    EXPECT_GT(played, 100);
}

TEST(PinnedStep, WhatIsReadFromBeforeTheLossIsMadeAgainForOpsThatAreNotPinnedToo) {
    const Graph graph = small_graph();
    const FlatGraph flat = flatten(graph);
    const Result<PinnedStep> step = pinned_step(graph, {{"a", PinKind::recompute}});
    ASSERT_TRUE(step);
    ASSERT_EQ(step->graph.ops.size(), 6u);
    // Runs `a`, `b` and the loss; then `b` again, which still reads the first `a`; then the op that makes the
    // copy of `a`; then the backward.
    const RunSequence runs = on_original(*step, flat, RunSequence{0, 1, 2, 1, 3, 4, 5}, Bytes(1000));
    EXPECT_TRUE(makes_again(step->pinned, flat, runs));
    EXPECT_THAT(broken_pins(graph, lower(flat, runs), {{"a", PinKind::recompute}}), testing::IsEmpty());
}

TEST(PinnedStep, RunsThatServeTwoReadersAreNotDoneTwiceWithinTheBudget) {
    const Graph graph = small_graph();
    const FlatGraph flat = flatten(graph);
    const Result<PinnedStep> step = pinned_step(graph, {{"a", PinKind::recompute}});
    ASSERT_TRUE(step);
    // `b` is made again from a rerun of `a`, and the backward reads the copy of `a`. One rerun of `a` is
    // enough for both.
    const RunSequence doubled = {0, 1, 2, 0, 1, 3, 4, 5};
    const RunSequence runs = on_original(*step, flat, doubled, Bytes(1000));
    EXPECT_EQ(std::count(runs.begin(), runs.end(), 0), 2);
    EXPECT_TRUE(makes_again(step->pinned, flat, runs));
}

TEST(PinnedStep, NoScheduleUnderThePinsIsBelowTheRelaxation) {
    int compared = 0, exact = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const Graph graph = random_training_graph(
            seed, {.forward_ops = 3, .weight_gradients = seed % 2 == 0, .run_once = false});
        if (graph.tensors.size() > 14 || graph.ops.size() > 10) continue;
        const Pins pins = some_pins(graph, seed);
        const Result<PinnedStep> step = pinned_step(graph, pins);
        if (!step) continue;
        const std::int64_t peak = keep_all_peak(flatten(graph)).value;
        for (const std::int64_t budget : {peak, peak * 8 / 10, peak * 6 / 10}) {
            const std::optional<Optimum> best = optimum_under(graph, step->pinned, budget);
            const ProvenBound bound = best_bound(step->relaxed, Bytes(budget));
            const std::optional<Optimum> relaxed = brute_force(step->relaxed, budget);
            if (!best) continue;
            ++compared;
            EXPECT_LE(bound.time, best->time) << seed << " at " << budget;
            EXPECT_LE(least_memory(step->relaxed).bytes.value, budget) << seed;
            ASSERT_TRUE(relaxed) << seed << " at " << budget;
            EXPECT_LE(relaxed->time, best->time) << seed << " at " << budget;
            exact += relaxed->time == best->time;
            EXPECT_THAT(broken_pins(graph, best->steps, pins), testing::IsEmpty()) << seed;
        }
    }
    EXPECT_GT(compared, 100);
    EXPECT_GT(exact, compared / 2);
}

TEST(PinnedStep, OnItAndBackTheOptimumUnderThePinsIsFound) {
    int compared = 0, equal = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        const Graph graph =
            random_training_graph(seed, {.forward_ops = 3, .weight_gradients = seed % 2 == 0});
        if (graph.ops.size() > 11) continue;
        const Result<PinnedStep> step = pinned_step(graph, some_pins(graph, seed));
        if (!step || step->graph.tensors.size() > 17) continue;
        const FlatGraph flat = flatten(graph);
        const std::int64_t budget = keep_all_peak(flat).value * 8 / 10;
        const std::optional<Optimum> best = optimum_under(graph, step->pinned, budget);
        const std::optional<Optimum> found = brute_force(step->flat, budget);
        if (!best) continue;
        ++compared;
        if (!found) continue;
        const RunSequence runs = on_original(*step, flat, *runs_of(found->steps), Bytes(budget));
        const SequenceCost cost = cost_of(flat, runs);
        EXPECT_TRUE(makes_again(step->pinned, flat, runs)) << seed;
        if (cost.peak > budget) continue;
        EXPECT_LE(best->time, cost.time) << seed;
        equal += cost.time == best->time;
        if (step->exact) {
            EXPECT_EQ(cost.time, best->time) << seed;
        }
    }
    EXPECT_GT(compared, 50);
    EXPECT_GT(equal, compared * 9 / 10);
}

}  // namespace
}  // namespace rematlas
