// Tests that after every edit the incremental memory profile agrees with the simulator.
#include "core/solvers/annealing/run_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/annealing/moves.h"
#include "core/solving/answers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::annealing {
namespace {

/// Compares everything that the profile stores with a new simulation of its sequence.
void expect_exact(const Graph& graph, const FlatGraph& flat, const RunProfile& profile) {
    const RunSequence runs = profile.sequence();
    ASSERT_EQ(runs.size(), profile.size());
    ASSERT_TRUE(is_executable(flat, runs));
    const SequenceCost cost = cost_of(flat, runs);
    ASSERT_EQ(profile.time(), cost.time);
    ASSERT_EQ(profile.peak(), cost.peak);
    const std::vector<Step> steps = lower(flat, runs);
    const Result<Simulation> simulation = simulate(graph, steps);
    ASSERT_TRUE(simulation) << simulation.error().message;
    std::int64_t excess = 0;
    int over = 0;
    RunProfile::Node run = profile.previous(RunProfile::kEnd);
    for (std::size_t i = steps.size(); i-- > 0;) {
        if (!steps[i].runs()) continue;
        const std::int64_t during = simulation->steps[i].during.value;
        ASSERT_EQ(profile.op(run), steps[i].id);
        ASSERT_EQ(profile.memory(run), during);
        excess += std::max<std::int64_t>(0, during - profile.budget());
        if (during > profile.budget()) {
            ++over;
            ASSERT_EQ(profile.over_run(profile.over_count() - over), run);
        }
        run = profile.previous(run);
    }
    ASSERT_EQ(run, RunProfile::kNone);
    ASSERT_EQ(profile.excess(), excess);
    ASSERT_EQ(profile.over_count(), over);
}

std::int64_t middle_budget(const FlatGraph& flat) {
    return (least_peak(flat).bytes.value + cost_of(flat, required_once(flat)).peak) / 2;
}

/// Makes random moves, and keeps or undoes each of them at random. Compares the profile with the simulation
/// after each move. With `repeats`, a third of the moves are made in all equal blocks at once.
void walk(const Graph& graph, std::uint64_t seed, int moves, const Repeats* repeats = nullptr) {
    const FlatGraph flat = flatten(graph);
    RunProfile profile(flat, middle_budget(flat), keep_all_sequence(flat));
    expect_exact(graph, flat, profile);
    Random random(seed);
    Moves proposals(flat, profile, random, repeats);
    std::size_t longest = 0;
    for (int i = 0; i < moves && !testing::Test::HasFatalFailure(); ++i) {
        const RunSequence before = profile.sequence();
        if (repeats && i % 3 == 2) {
            proposals.exchange_in_equal_blocks();
            longest = std::max(longest, profile.edits());
        } else {
            proposals.propose();
        }
        expect_exact(graph, flat, profile);
        if (profile.size() < 3 * static_cast<std::size_t>(flat.op_count) && random.chance(0.6)) {
            profile.commit();
            continue;
        }
        profile.undo();
        ASSERT_EQ(profile.sequence(), before);
        expect_exact(graph, flat, profile);
    }
    if (repeats) {
        EXPECT_GT(longest, 10u);
    }
}

TEST(RunProfile, IsExactAfterEveryMoveOnTrainingGraphs) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        ASSERT_NO_FATAL_FAILURE(
            walk(random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 9)}), seed, 150));
    }
}

TEST(RunProfile, IsExactAfterEveryMoveOnOddGraphs) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        ASSERT_NO_FATAL_FAILURE(walk(random_odd_graph(seed, 4 + static_cast<int>(seed % 30)), seed, 100));
    }
}

TEST(RunProfile, IsExactAcrossManyBlocks) {
    ASSERT_NO_FATAL_FAILURE(walk(random_training_graph(5, {.forward_ops = 120}), 5, 200));
    ASSERT_NO_FATAL_FAILURE(walk(random_chain(6, 150), 6, 200));
}

TEST(RunProfile, IsExactAfterMovesInAllEqualBlocks) {
    const Graph graph = gpt_graph({.layers = 6});
    const Repeats repeats = repeats_of(graph);
    ASSERT_NO_FATAL_FAILURE(walk(graph, 7, 400, &repeats));
}

TEST(Repeats, MatchTheOpsOfALayerWithThoseOfTheOthers) {
    const Graph graph = gpt_graph({.layers = 5});
    const FlatGraph flat = flatten(graph);
    const Repeats repeats = repeats_of(graph);
    std::size_t matched = 0;
    for (const std::vector<std::int32_t>& alike : repeats.alike) {
        EXPECT_GE(alike.size(), 2u);
        matched += alike.size();
        for (const int op : alike) {
            EXPECT_EQ(repeats.alike[repeats.group[op]], alike);
            EXPECT_EQ(graph.ops[OpId(op)].name, graph.ops[OpId(alike.front())].name);
            EXPECT_EQ(flat.workspace[op], flat.workspace[alike.front()]);
            EXPECT_EQ(flat.outputs[op].size(), flat.outputs[alike.front()].size());
        }
    }
    EXPECT_GT(matched, graph.ops.size() * 3 / 4);
}

TEST(RunProfile, AnswersQuestionsAboutNeighbours) {
    const Graph graph = random_chain(3, 40);
    const FlatGraph flat = flatten(graph);
    const RunSequence runs = keep_all_sequence(flat);
    RunProfile profile(flat, 0, runs);
    RunProfile::Node node = profile.previous(RunProfile::kEnd);
    std::int64_t most = 0;
    for (std::size_t i = runs.size(); i-- > 0;) {
        EXPECT_EQ(profile.op(node), runs[i]);
        EXPECT_EQ(profile.most_between(node, RunProfile::kEnd), most);
        most = std::max(most, profile.memory(node));
        const RunProfile::Node before = profile.previous(node);
        if (before != RunProfile::kNone) {
            EXPECT_EQ(profile.next(before), node);
            EXPECT_TRUE(profile.before(before, node));
        }
        node = before;
    }
    EXPECT_EQ(most, profile.peak());
}

TEST(RunProfile, KeepsRequiredOpsAndOnceOnlyOps) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 6});
        const FlatGraph flat = flatten(graph);
        RunProfile profile(flat, 0, keep_all_sequence(flat));
        for (int op = 0; op < flat.op_count; ++op) {
            const RunProfile::Node run = profile.runs_of(op).front();
            EXPECT_TRUE(!flat.required[op] || !profile.can_remove(run));
        }
    }
}

}  // namespace
}  // namespace rematlas::annealing
