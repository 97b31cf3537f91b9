#include <gtest/gtest.h>

#include "core/maxbatch/batch_family.h"
#include "core/maxbatch/largest_batch.h"
#include "core/schedule/check.h"
#include "core/solvers/solve.h"
#include "tests/core/brute_force.h"
#include "tests/core/random_graph.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

/// A random graph whose activations, gradients and times grow with the batch; the rest stays.
Graph at_batch(std::uint64_t seed, std::int64_t batch, int forward_ops = 2) {
    Graph graph = random_training_graph(seed, {.forward_ops = forward_ops, .free_ops = false});
    const auto made_by = producers(graph);
    for (TensorId tensor : graph.tensors.ids())
        if (made_by[tensor].valid()) graph.tensors[tensor].bytes.value *= batch;
    for (OpId op : graph.ops.ids()) {
        graph.ops[op].time.value = 3 + graph.ops[op].time.value * batch;
        graph.ops[op].workspace.value = 2 + graph.ops[op].workspace.value * batch;
    }
    return graph;
}

LargestBatchOptions options(std::int64_t budget) {
    return {.budget = Bytes(budget), .max_overhead = {}, .limits = {.time = 2s}};
}

TEST(BatchFamily, ForetellsWhatIsProportionalToTheBatchExactly) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        BatchFamily family;
        EXPECT_FALSE(family.graph_at(5));
        family.add(2, at_batch(seed, 2));
        EXPECT_FALSE(family.graph_at(5)) << "one member is no line";
        family.add(4, at_batch(seed, 4));
        for (std::int64_t batch : {1, 3, 7, 1000}) {
            const std::optional<Graph> graph = family.graph_at(batch);
            ASSERT_TRUE(graph);
            const Graph expected = at_batch(seed, batch);
            for (TensorId tensor : expected.tensors.ids())
                EXPECT_EQ(graph->tensors[tensor].bytes, expected.tensors[tensor].bytes);
            for (OpId op : expected.ops.ids()) {
                EXPECT_EQ(graph->ops[op].time, expected.ops[op].time);
                EXPECT_EQ(graph->ops[op].workspace, expected.ops[op].workspace);
            }
        }
    }
}

TEST(BatchFamily, ForetellsNothingAcrossDifferentOpsOrBeyondTheRangeOfBytes) {
    BatchFamily family;
    family.add(2, at_batch(1, 2));
    Graph other = at_batch(1, 4);
    other.ops[OpId(0)].name = "another_kernel";
    family.add(4, other);
    EXPECT_FALSE(family.graph_at(3));
    family.add(4, at_batch(1, 4));
    EXPECT_TRUE(family.graph_at(3));
    EXPECT_FALSE(family.graph_at(std::int64_t{1} << 60));
}

/// Differential: try one batch after the other, exhaustively.
TEST(LargestBatch, IsTheLargestWhoseLeastPeakKeepsTheBudget) {
    int proven = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const std::int64_t budget = 60 + static_cast<std::int64_t>(seed) * 37;
        std::int64_t expected = 0;
        while (brute_force_least_peak(flatten(at_batch(seed, expected + 1))) <= budget) ++expected;
        int captures = 0;
        const auto capture = [&](std::int64_t batch) -> Result<Graph> {
            ++captures;
            return at_batch(seed, batch);
        };
        const Result<LargestBatch> found = largest_batch(capture, options(budget));
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->batch, expected) << "seed " << seed;
        EXPECT_LE(captures, 6);
        EXPECT_EQ(static_cast<std::size_t>(captures), found->captured.size());
        proven += found->proven;
        if (expected == 0) continue;
        std::int64_t unscheduled = 0;
        while (keep_all_peak(flatten(at_batch(seed, unscheduled + 1))) <= Bytes(budget)) ++unscheduled;
        EXPECT_EQ(found->without_recomputation, unscheduled);
        ASSERT_TRUE(found->schedule);
        EXPECT_TRUE(check(found->graph, *found->schedule, Bytes(budget)).ok());
    }
    EXPECT_GE(proven, 6);
}

TEST(LargestBatch, KeepsTheOverheadAllowed) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const std::int64_t budget = 400;
        const double most = 1.15;
        const auto fits = [&](std::int64_t batch) {
            const FlatGraph flat = flatten(at_batch(seed, batch));
            const auto best = brute_force(flat, budget);
            return best && double(best->time) <= most * double(flat.base_time);
        };
        std::int64_t expected = 0;
        while (fits(expected + 1)) ++expected;
        LargestBatchOptions wanted = options(budget);
        wanted.max_overhead = most;
        const Result<LargestBatch> found =
            largest_batch([&](std::int64_t batch) -> Result<Graph> { return at_batch(seed, batch); }, wanted);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->batch, expected) << "seed " << seed;
        if (found->schedule) {
            EXPECT_LE(found->schedule->overhead, most * (1 + 1e-9));
        }
    }
}

TEST(LargestBatch, SearchesWhereNothingCanBeForetold) {
    const auto capture = [](std::int64_t batch) -> Result<Graph> {
        Graph graph = at_batch(3, batch);
        graph.ops[OpId(0)].name = "kernel_" + std::to_string(batch);
        return graph;
    };
    std::int64_t expected = 0;
    while (brute_force_least_peak(flatten(at_batch(3, expected + 1))) <= 700) ++expected;
    const Result<LargestBatch> found = largest_batch(capture, options(700));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->batch, expected);
}

/// A kernel that takes another workspace beyond some size.
TEST(LargestBatch, RestsOnWhatWasCapturedNotOnWhatWasForetold) {
    const auto graph_of = [](std::int64_t batch) {
        Graph graph = at_batch(5, batch);
        if (batch > 9) graph.ops[OpId(0)].workspace.value += 10'000;
        return graph;
    };
    const Result<LargestBatch> found =
        largest_batch([&](std::int64_t batch) -> Result<Graph> { return graph_of(batch); }, options(5'000));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->batch, 9);
    EXPECT_TRUE(found->proven);
    EXPECT_GT(found->next_needs.value(), Bytes(10'000));
}

TEST(LargestBatch, SaysWhatABatchOfOneNeedsWhenNoneFits) {
    const auto capture = [](std::int64_t batch) -> Result<Graph> { return at_batch(1, batch); };
    const Result<LargestBatch> found = largest_batch(capture, options(5));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->batch, 0);
    EXPECT_FALSE(found->schedule);
    EXPECT_TRUE(found->proven);
    EXPECT_GT(found->next_needs.value(), Bytes(5));
}

TEST(LargestBatch, StopsAtTheMostThatIsAskedFor) {
    LargestBatchOptions wanted = options(std::int64_t{1} << 50);
    wanted.most = 1000;
    const Result<LargestBatch> found =
        largest_batch([](std::int64_t batch) -> Result<Graph> { return at_batch(1, batch); }, wanted);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->batch, 1000);
    EXPECT_TRUE(found->at_most);
}

TEST(LargestBatch, PassesTheErrorOfACaptureOn) {
    const auto fails = [](std::int64_t) -> Result<Graph> { return Error{"no such file"}; };
    const Result<LargestBatch> found = largest_batch(fails, options(1000));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "no such file");
}

}  // namespace
}  // namespace rematlas
