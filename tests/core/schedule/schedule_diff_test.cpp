#include "core/schedule/schedule_diff.h"

#include <gtest/gtest.h>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/update_on_host.h"

namespace rematlas {
namespace {

struct Pair {
    Graph graph;
    std::vector<Step> all_kept, planned;  ///< `planned` is empty if no schedule was found
};

Pair pair_of(std::uint64_t seed) {
    Pair pair{random_training_graph(seed, {.forward_ops = 8}), {}, {}};
    const FlatGraph flat = flatten(pair.graph);
    pair.all_kept = lower(flat, keep_all_sequence(flat));
    const Bytes budget((simulate(pair.graph, pair.all_kept)->peak.value * 7 + flat.resident_bytes * 3) / 10);
    const auto solver = make_atlas({.max_moves = 1'000, .first_cycle = 200});
    const Answer answer = solver->solve({pair.graph, flat}, budget, {.time = std::chrono::hours(1)}, {});
    if (const auto* solution = std::get_if<Solution>(&answer)) pair.planned = solution->steps;
    return pair;
}

TEST(ScheduleDiff, OfAScheduleWithItselfIsEmpty) {
    const Pair pair = pair_of(3);
    const Result<ScheduleDiff> found = compare(pair.graph, pair.all_kept, pair.all_kept);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ops.empty());
    EXPECT_EQ(found->time_a, found->time_b);
    for (std::size_t i = 0; i < pair.all_kept.size(); ++i) EXPECT_EQ(found->in_b[i], static_cast<int>(i));
}

TEST(ScheduleDiff, ItsTimesAddUpToTheDifferenceOfTheSteps) {
    int reruns = 0, compared = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Pair pair = pair_of(seed);
        if (pair.planned.empty()) continue;
        ++compared;
        const Result<ScheduleDiff> there = compare(pair.graph, pair.all_kept, pair.planned);
        const Result<ScheduleDiff> back = compare(pair.graph, pair.planned, pair.all_kept);
        ASSERT_TRUE(there && back);
        EXPECT_EQ(there->more_time - there->fewer_time, there->time_b - there->time_a) << seed;
        EXPECT_EQ(there->fewer_runs, 0) << "nothing runs less often than once";
        EXPECT_EQ(there->more_runs, back->fewer_runs);
        EXPECT_EQ(there->ops.size(), back->ops.size());
        EXPECT_EQ(there->in_b, back->in_a);
        reruns += there->more_runs;
    }
    EXPECT_GT(reruns, 20);
    EXPECT_GT(compared, 15);
}

TEST(ScheduleDiff, MatchesTheSameRunOfTheSameOpAndNothingElse) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Pair pair = pair_of(seed);
        if (pair.planned.empty()) continue;
        ++compared;
        const Result<ScheduleDiff> found = compare(pair.graph, pair.all_kept, pair.planned);
        ASSERT_TRUE(found);
        int without = 0;
        for (std::size_t i = 0; i < pair.planned.size(); ++i) {
            const int match = found->in_a[i];
            if (match < 0) {
                without += pair.planned[i].runs();
                continue;
            }
            const Step& other = pair.all_kept[static_cast<std::size_t>(match)];
            EXPECT_EQ(other.id, pair.planned[i].id);
            EXPECT_EQ(other.runs(), pair.planned[i].runs());
            EXPECT_EQ(found->in_b[static_cast<std::size_t>(match)], static_cast<int>(i));
        }
        EXPECT_EQ(without, found->more_runs);
    }
    EXPECT_GT(compared, 15);
}

TEST(ScheduleDiff, TellsWhatLiesAtThePeaks) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Pair pair = pair_of(seed);
        if (pair.planned.empty()) continue;
        ++compared;
        const Result<ScheduleDiff> found = compare(pair.graph, pair.all_kept, pair.planned);
        ASSERT_TRUE(found);
        Bytes change;
        for (const OpDifference& op : found->ops) change += op.at_peak_b - op.at_peak_a;
        // Besides tensors, a peak contains the workspace of the op that runs at the peak, minus the bytes
        // that the op writes in place.
        const auto room = [&](const std::vector<Step>& steps, std::size_t at) {
            const Op& op = pair.graph.ops[steps[at].op()];
            Bytes extra = op.workspace;
            if (steps[at].kind == StepKind::run_inplace)
                for (const InplacePair& p : op.inplace)
                    extra -= std::min(pair.graph.tensors[p.in].bytes, pair.graph.tensors[p.out].bytes);
            return extra;
        };
        EXPECT_EQ(found->peak_b - found->peak_a,
                  change + room(pair.planned, found->peak_step_b) - room(pair.all_kept, found->peak_step_a))
            << seed;
    }
    EXPECT_GT(compared, 15);
}

TEST(ScheduleDiff, OfSchedulesThatWerePlayedIsTheSame) {
    const Graph graph = random_training_graph(7);
    const FlatGraph flat = flatten(graph);
    const std::vector<Step> a = lower(flat, keep_all_sequence(flat)), b = lower(flat, required_once(flat));
    const Result<Simulation> played_a = simulate(graph, a), played_b = simulate(graph, b);
    ASSERT_TRUE(played_a && played_b);
    const Result<ScheduleDiff> once = compare(graph, a, b);
    ASSERT_TRUE(once);
    const ScheduleDiff again = compare(graph, {a, *played_a}, {b, *played_b});
    EXPECT_EQ(again.time_b, once->time_b);
    EXPECT_EQ(again.peak_a, once->peak_a);
    EXPECT_EQ(again.in_b, once->in_b);
    EXPECT_EQ(again.ops.size(), once->ops.size());
}

TEST(ScheduleDiff, NamesTheStepThatCannotBePlayed) {
    const Pair pair = pair_of(3);
    const std::vector<Step> broken(pair.all_kept.begin() + 1, pair.all_kept.end());
    EXPECT_FALSE(compare(pair.graph, pair.all_kept, broken));
    const Result<ScheduleDiff> found = compare(pair.graph, broken, pair.all_kept);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("step "), std::string::npos);
}

TEST(ScheduleDiff, AnUpdateThatRunsOnTheHostIsNotOneThatRunsLess) {
    const Graph graph = graph_with_update();
    const Schedule device = with_update_on_device(), host = with_update_on_host();
    const Result<ScheduleDiff> found = compare(graph, device, host);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->fewer_runs, 0);
    EXPECT_EQ(found->left_device, 1);
    EXPECT_EQ(found->left_time, Nanoseconds(10));
    EXPECT_EQ(found->came_back, 0);
    EXPECT_EQ(found->host_a,
              (HostUse{.runs = 0, .to_host = Bytes(100), .to_device = Bytes(100), .peak = Bytes(100)}));
    EXPECT_EQ(found->host_b,
              (HostUse{.runs = 1, .to_host = Bytes(200), .to_device = Bytes(100), .peak = Bytes(300)}));
    ASSERT_FALSE(found->ops.empty());
    EXPECT_EQ(found->ops.front().op, OpId(2));
    EXPECT_FALSE(found->ops.front().on_host_a);
    EXPECT_TRUE(found->ops.front().on_host_b);
    const Result<ScheduleDiff> back = compare(graph, host, device);
    EXPECT_EQ(back->came_back, 1);
    EXPECT_EQ(back->came_time, Nanoseconds(10));
    EXPECT_EQ(back->more_runs, 0);
    const std::vector<RunDifference> runs = run_differences(device.steps, host.steps);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_TRUE(runs.front().on_host_b);
}

}  // namespace
}  // namespace rematlas
