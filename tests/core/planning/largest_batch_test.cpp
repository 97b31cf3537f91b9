#include "core/planning/largest_batch.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/checking/check.h"
#include "core/milp/milp.h"
#include "core/planning/batch_family.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/staged/staged_model.h"
#include "core/solving/answers.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/staged_schedules.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

/// Returns a random graph whose activations, gradients and times grow with the batch; all other sizes are
/// constant.
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

/// Returns options whose searches end after a number of moves, not by time.
LargestBatchOptions options(std::int64_t budget) {
    static const std::unique_ptr<Solver> atlas = make_atlas({.max_moves = 20'000, .first_cycle = 2000});
    return {.budget = Bytes(budget), .max_overhead = {}, .limits = {.time = 1h}, .asked = atlas.get()};
}

/// Returns options for Checkmate. Its searches end when their integer programs are solved to optimality, not
/// by time.
LargestBatchOptions options_of_checkmate(std::int64_t budget, std::optional<double> max_overhead) {
    return {
        .budget = Bytes(budget), .max_overhead = max_overhead, .solver = "checkmate", .limits = {.time = 1h}};
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

/// Compares the answer with a scan that tries one batch after another, each by exhaustive search.
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

/// Compares the answer with exhaustive searches in Checkmate's class and over all orders, at the answer and
/// at the next batch. Returns how often the answer was proven only for Checkmate's class.
int compare_least_peaks(std::optional<double> max_overhead) {
    int found_some = 0, in_class = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const auto flat_at = [&](std::int64_t batch) { return flatten(at_batch(seed, batch)); };
        if (required_once(flat_at(1)).size() > 6) continue;
        const auto most_time = [&](const FlatGraph& flat) {
            return max_overhead ? static_cast<std::int64_t>(*max_overhead * double(flat.base_time))
                                : kNoStagedSchedule - 1;
        };
        const auto fits_in_class = [&](std::int64_t batch, std::int64_t budget) {
            const FlatGraph flat = flat_at(batch);
            return staged_least_peak(flat, most_time(flat)) <= budget;
        };
        const auto fits = [&](std::int64_t batch, std::int64_t budget) {
            const FlatGraph flat = flat_at(batch);
            const auto best = brute_force(flat, budget);
            return best && best->time <= most_time(flat);
        };
        const LargestBatchOptions wanted =
            options_of_checkmate(300 + 17 * static_cast<std::int64_t>(seed), max_overhead);
        const std::int64_t budget = wanted.budget.value;
        const Result<LargestBatch> found =
            largest_batch([&](std::int64_t batch) -> Result<Graph> { return at_batch(seed, batch); }, wanted);
        EXPECT_TRUE(found) << (found ? "" : found.error().message);
        if (!found) continue;
        EXPECT_LE(found->captured.size(), 7u) << "seed " << seed;
        EXPECT_FALSE(fits_in_class(found->batch + 1, budget)) << "seed " << seed;
        EXPECT_TRUE(found->proven || found->next_needs_in_class) << "seed " << seed;
        if (found->proven) {
            EXPECT_FALSE(fits(found->batch + 1, budget)) << "seed " << seed;
        }
        if (found->next_needs_in_class) {
            const FlatGraph next = flat_at(found->batch + 1);
            EXPECT_GT(found->next_needs_in_class->value, budget);
            EXPECT_LE(found->next_needs_in_class->value, staged_least_peak(next, most_time(next)));
        }
        in_class += !found->proven;
        if (found->batch == 0) continue;
        ++found_some;
        EXPECT_TRUE(found->schedule);
        if (!found->schedule) continue;
        EXPECT_TRUE(check(found->graph, *found->schedule, Bytes(budget)).ok());
        EXPECT_LE(found->schedule->time.value, most_time(flat_at(found->batch)));
    }
    EXPECT_GE(found_some, 30);
    return in_class;
}

TEST(LargestBatch, OfCheckmateIsTheLargestWhoseLeastPeakInItsClassKeepsTheBudget) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    int in_class = compare_least_peaks({});
    for (const double overhead : {1.05, 1.1, 1.2}) in_class += compare_least_peaks(overhead);
    EXPECT_GE(in_class, 5);
}

/// On larger graphs, compares the answer with a scan that finds the least time in Checkmate's class, batch by
/// batch.
TEST(LargestBatch, OfCheckmateAgreesWithAScanByTheProgrammeThatMinimizesTheTime) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    const double most = 1.25;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const std::int64_t budget = 1500;
        const auto fits = [&](std::int64_t batch) {
            const FlatGraph flat = flatten(at_batch(seed, batch, 4));
            const StagedModel model(flat, budget);
            const Result<MilpAnswer> answer =
                solve_milp(milp_libraries().front(), model.milp(), {.relative_gap = 1e-7});
            return answer && answer->status == MilpStatus::optimal &&
                   model.time_of(answer->objective) <= most * double(flat.base_time) + 1e-6;
        };
        std::int64_t expected = 0;
        while (fits(expected + 1)) ++expected;
        const Result<LargestBatch> found =
            largest_batch([&](std::int64_t batch) -> Result<Graph> { return at_batch(seed, batch, 4); },
                          options_of_checkmate(budget, most));
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_GE(found->batch, expected) << "seed " << seed;
        EXPECT_FALSE(fits(found->batch + 1)) << "seed " << seed;
    }
}

TEST(LargestBatch, OfCheckmateSaysWhichLibraryIsMissing) {
    if (!milp_libraries().empty()) GTEST_SKIP() << "this build has one";
    const Result<LargestBatch> found =
        largest_batch([](std::int64_t batch) -> Result<Graph> { return at_batch(1, batch); },
                      options_of_checkmate(1000, {}));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "checkmate: this build has neither HiGHS nor GLPK");
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

/// Above some batch size an op needs a larger workspace than the prediction says.
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

/// A solver that uses all of the time that it is given, adds up this time, and keeps all tensors.
class Slow : public Solver {
  public:
    std::string_view name() const override { return "atlas"; }
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits, const Progress&) const override {
        ++calls;
        given += limits.time;
        const Deadline deadline({.time = limits.time});
        while (!deadline.passed()) std::this_thread::sleep_for(200us);
        Solution kept = solution_from(problem.flat, keep_all_sequence(problem.flat));
        if (kept.peak > budget) return infeasible_from(problem, budget, kept.peak);
        return kept;
    }
    mutable int calls = 0;
    mutable std::chrono::nanoseconds given{0};
};

TEST(LargestBatch, AllSolvingTogetherKeepsTheTimeLimit) {
    for (const Offload what : {Offload::none, Offload::all}) {
        Slow slow;
        LargestBatchOptions wanted = options(200'000);
        wanted.limits.time = 300ms;
        wanted.asked = &slow;
        wanted.copies = {.what = what,
                         .links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9},
                         .host_budget = Bytes(1)};
        const auto capture = [](std::int64_t batch) -> Result<Graph> { return at_batch(3, batch); };
        const Result<LargestBatch> found = largest_batch(capture, wanted);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_GT(found->batch, 1);
        EXPECT_GT(slow.calls, 8) << "most of them on foretold batches";
        EXPECT_LE(slow.given, wanted.limits.time) << slow.calls << " solves";
        EXPECT_GT(slow.given, wanted.limits.time / 8) << "the first solve alone is given 50 ms";
    }
}

TEST(LargestBatch, PassesTheErrorOfACaptureOn) {
    const auto fails = [](std::int64_t) -> Result<Graph> { return Error{"no such file"}; };
    const Result<LargestBatch> found = largest_batch(fails, options(1000));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "no such file");
}

}  // namespace
}  // namespace rematlas
