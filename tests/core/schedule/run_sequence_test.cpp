#include "core/schedule/run_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/checking/check.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// Returns the ops in the graph's order, with random reruns at places where their inputs exist.
RunSequence with_random_reruns(const FlatGraph& graph, std::uint64_t seed) {
    std::uint64_t state = seed * 2 + 1;
    const auto next = [&state](std::uint64_t n) {
        return state = state * 6364136223846793005ull + 1442695040888963407ull, (state >> 33) % n;
    };
    RunSequence runs;
    for (int op = 0; op < graph.op_count; ++op) {
        runs.push_back(op);
        while (next(3) == 0) {
            const int again = static_cast<int>(next(static_cast<std::uint64_t>(op) + 1));
            if (graph.recomputable[again]) runs.push_back(again);
        }
    }
    return runs;
}

TEST(RunSequence, cost_simulator_and_checker_agree_on_random_graphs) {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        const Graph graph = seed % 2 ? random_training_graph(seed) : random_odd_graph(seed, 12);
        const FlatGraph flat = flatten(graph);
        const RunSequence runs = with_random_reruns(flat, seed);
        ASSERT_TRUE(is_executable(flat, runs));
        const SequenceCost cost = cost_of(flat, runs);
        Schedule schedule;
        schedule.steps = lower(flat, runs);
        const Result<Simulation> simulated = simulate(graph, schedule.steps);
        ASSERT_TRUE(simulated) << simulated.error().message;
        EXPECT_EQ(simulated->time.value, cost.time) << seed;
        EXPECT_EQ(simulated->peak.value, cost.peak) << seed;
        const CheckReport report = check(graph, schedule);
        ASSERT_TRUE(report.ok()) << report.violations.front();
        EXPECT_EQ(report.peak.value, cost.peak) << seed;
        EXPECT_EQ(report.time.value, cost.time) << seed;
        EXPECT_EQ(report.runs, runs.size());
        EXPECT_EQ(simulated->steps.back().after.value, [&] {
            std::int64_t bytes = flat.resident_bytes;
            for (int t : flat.results) bytes += flat.bytes[t];
            return bytes;
        }()) << "only results and residents are left";
    }
}

/// Says whether an output of the run is read before it is made again, or is a result that stays until the
/// end.
bool serves(const FlatGraph& graph, const RunSequence& runs, std::size_t at) {
    const auto among = [](auto list, int item) {
        return std::find(list.begin(), list.end(), item) != list.end();
    };
    for (int t : graph.outputs[runs[at]]) {
        std::size_t next = at + 1;
        while (next < runs.size() && !among(graph.inputs[runs[next]], t) && graph.producer[t] != runs[next])
            ++next;
        if (next == runs.size() ? graph.is_result[t] : among(graph.inputs[runs[next]], t)) return true;
    }
    return false;
}

TEST(RunSequence, without_useless_runs_each_run_serves_or_is_the_last_of_an_op_that_must_run) {
    int dropped = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const FlatGraph flat = flatten(seed % 2 ? random_training_graph(seed) : random_odd_graph(seed, 12));
        const RunSequence runs = with_random_reruns(flat, seed), kept = without_useless(flat, runs);
        ASSERT_TRUE(is_executable(flat, kept)) << seed;
        EXPECT_EQ(without_useless(flat, kept), kept);
        std::size_t at = 0;
        for (std::int32_t run : runs) at += at < kept.size() && kept[at] == run;
        EXPECT_EQ(at, kept.size()) << "the same runs in the same order, but for some";
        for (std::size_t i = 0; i < kept.size(); ++i) {
            const bool last = std::find(kept.begin() + static_cast<std::ptrdiff_t>(i) + 1, kept.end(),
                                        kept[i]) == kept.end();
            EXPECT_TRUE(serves(flat, kept, i) || (flat.required[kept[i]] && last)) << seed << ", run " << i;
        }
        EXPECT_LE(cost_of(flat, kept).peak, cost_of(flat, runs).peak) << seed;
        dropped += kept.size() < runs.size();
    }
    EXPECT_GT(dropped, 200);
}

TEST(RunSequence, keep_all_of_the_small_graph_has_the_peak_counted_by_hand) {
    const FlatGraph flat = flatten(small_graph());
    const SequenceCost cost = cost_of(flat, keep_all_sequence(flat));
    EXPECT_EQ(cost.time, 50);
    EXPECT_EQ(cost.peak, 410);  // x, a, b, grad_b, grad_a
    EXPECT_EQ(cost.peak_run, 3u);
}

TEST(RunSequence, what_cannot_run_is_not_executable) {
    const FlatGraph flat = flatten(small_graph());
    EXPECT_FALSE(is_executable(flat, RunSequence{1, 0, 2, 3, 4})) << "reads before it is made";
    EXPECT_FALSE(is_executable(flat, RunSequence{0, 1, 2, 3})) << "a required op is missing";
    EXPECT_FALSE(is_executable(flat, RunSequence{0, 1, 2, 3, 4, 9})) << "no such op";
    Graph once = small_graph();
    once.ops[OpId(1)].recomputable = false;
    EXPECT_FALSE(is_executable(flatten(once), RunSequence{0, 1, 2, 1, 3, 4})) << "runs once only";
}

TEST(RunSequence, an_op_runs_in_place_only_where_its_input_dies) {
    Graph graph = small_graph();
    graph.ops[OpId(1)].inplace = {{TensorId(2), TensorId(1)}};
    const FlatGraph flat = flatten(graph);
    EXPECT_EQ(lower(flat, keep_all_sequence(flat))[1], Step::run(OpId(1)))
        << "a is read again by the backward ops";
    const RunSequence again{0, 1, 2, 0, 3, 4};
    EXPECT_EQ(lower(flat, again)[1], Step::run_inplace(OpId(1))) << "a is made again before its next use";
    EXPECT_EQ(cost_of(flat, again).peak, 410);
}

/// Returns the graph a -> b. `a` is a result of 10 bytes. `b` has 10 bytes, can run in place, and has 15
/// bytes of workspace.
Graph result_that_may_be_written_over() {
    Graph graph;
    graph.tensors = {Tensor{"a", Bytes(10)}, Tensor{"b", Bytes(10)}};
    graph.ops.resize(2);
    Op &a = graph.ops[OpId(0)], &b = graph.ops[OpId(1)];
    a.time = b.time = Nanoseconds(1);
    a.outputs = {TensorId(0)};
    b.inputs = {TensorId(0)};
    b.outputs = {TensorId(1)};
    b.workspace = Bytes(15);
    b.inplace = {{TensorId(1), TensorId(0)}};
    graph.results = {TensorId(0), TensorId(1)};
    return graph;
}

TEST(RunSequence, a_result_is_written_over_where_its_maker_runs_again) {
    Graph graph = result_that_may_be_written_over();
    ASSERT_TRUE(validate(graph));
    const FlatGraph flat = flatten(graph);
    const RunSequence again{0, 1, 0};
    EXPECT_EQ(lower(flat, again)[1], Step::run_inplace(OpId(1)));
    EXPECT_EQ(cost_of(flat, again).peak, 25);
    EXPECT_EQ(cost_of(flat, keep_all_sequence(flat)).peak, 35) << "a must stay";
    Schedule schedule;
    schedule.steps = lower(flat, again);
    const CheckReport report = check(graph, schedule, Bytes(25));
    ASSERT_TRUE(report.ok()) << report.violations.front();
    EXPECT_EQ(least_peak(flat).bytes, Bytes(25)) << "bounds know of it";
    graph.ops[OpId(0)].recomputable = false;
    EXPECT_EQ(least_peak(flatten(graph)).bytes, Bytes(35));
}

}  // namespace
}  // namespace rematlas
