#include "viz/paint/lane_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/viz/layered_graph.h"

namespace rematlas {
namespace {

std::vector<Step> all_kept(const Graph& graph) {
    FlatGraph flat = flatten(graph);
    return lower(flat, keep_all_sequence(flat));
}

/// Its first op runs twice, one after the other.
std::vector<Step> with_a_rerun(const Graph& graph) {
    std::vector<Step> steps = all_kept(graph);
    steps.insert(steps.begin(), {Step::run(OpId(0)), Step::free(graph.ops[OpId(0)].outputs.front())});
    return steps;
}

LaneData lanes(const Graph& graph, const std::vector<Step>& steps, LaneAxis axis) {
    auto simulation = simulate(graph, steps);
    EXPECT_TRUE(simulation);
    return simulation ? lane_data(graph, steps, *simulation, axis) : LaneData();
}

std::int64_t highest(const LaneData& data) {
    std::int64_t most = 0;
    for (const MemoryPoint& point : data.memory) most = std::max(most, point.bytes);
    return most;
}

TEST(LaneData, HasABarForEveryRunInItsLane) {
    const Graph graph = LayeredGraph::make(3);
    const LaneData data = lanes(graph, with_a_rerun(graph), LaneAxis::time);
    ASSERT_EQ(data.bars.size(), graph.ops.size() + 1);
    EXPECT_EQ(data.bars[0].lane, Lane::forward);
    EXPECT_EQ(data.bars[1].lane, Lane::recompute) << "the second run of an op is a recomputation";
    EXPECT_EQ(data.bars.back().lane, Lane::backward);
    EXPECT_TRUE(std::is_sorted(data.bars.begin(), data.bars.end(),
                               [](const LaneBar& a, const LaneBar& b) { return a.begin < b.begin; }));
}

TEST(LaneData, ReachesThePredictedPeakAndTime) {
    const Graph graph = LayeredGraph::make(5);
    const std::vector<Step> steps = all_kept(graph);
    const auto simulation = simulate(graph, steps);
    for (LaneAxis axis : {LaneAxis::time, LaneAxis::steps}) {
        const LaneData data = lanes(graph, steps, axis);
        EXPECT_EQ(highest(data), simulation->peak.value);
        EXPECT_EQ(data.peak, simulation->peak.value);
    }
    EXPECT_DOUBLE_EQ(lanes(graph, steps, LaneAxis::time).length, static_cast<double>(simulation->time.value));
    EXPECT_DOUBLE_EQ(lanes(graph, steps, LaneAxis::steps).length, static_cast<double>(graph.ops.size()));
}

TEST(LaneData, FindsTheRunUnderThePointer) {
    const Graph graph = LayeredGraph::make(3);
    const LaneData data = lanes(graph, with_a_rerun(graph), LaneAxis::steps);
    for (const LaneBar& bar : data.bars) EXPECT_EQ(data.step_at((bar.begin + bar.end) / 2), bar.step);
    EXPECT_EQ(data.step_at(-5), data.bars.front().step);
    EXPECT_EQ(data.step_at(1e9), data.bars.back().step);
    EXPECT_EQ(LaneData().step_at(0), -1);
}

TEST(LaneData, TellsHowMuchOfTheModulePathNeighboursShare) {
    Graph graph = LayeredGraph::make(3);
    const LaneData data = lanes(graph, all_kept(graph), LaneAxis::time);
    const std::map<std::pair<std::string, std::string>, int> expected = {{{"h.0.norm", "h.0.mlp.fc"}, 2},
                                                                         {{"h.0.mlp.fc", "h.0.mlp.act"}, 3},
                                                                         {{"h.0", "h.1.norm"}, 1},
                                                                         {{"embed", "h.0.norm"}, 0}};
    std::size_t found = 0;
    for (std::size_t i = 1; i < data.bars.size(); ++i) {
        const LaneBar& bar = data.bars[i];
        if (bar.lane != Lane::forward || bar.phase != Phase::forward) continue;
        const auto ran = std::pair(graph.ops[OpId(static_cast<int>(i) - 1)].module,
                                   graph.ops[OpId(static_cast<int>(i))].module);
        if (expected.count(ran)) {
            EXPECT_EQ(bar.shared, expected.at(ran)) << ran.second;
            ++found;
        }
    }
    EXPECT_EQ(found, expected.size());
    for (Op& op : graph.ops) op.module = "all.in.one";
    for (const LaneBar& bar : lanes(graph, all_kept(graph), LaneAxis::time).bars) {
        if (bar.begin > 0 && bar.lane == Lane::forward) {
            EXPECT_EQ(bar.shared, LaneBar::kSameModule);
        }
    }
}

TEST(LaneData, CopiesOnOneLinkComeOneAfterTheOther) {
    Graph graph = LayeredGraph::make(3);
    graph.device = Device{"test", Bytes(1LL << 34), 1e8, 1e8};  // a MiB takes 10 ms, an op 1 ms
    std::vector<Step> steps = all_kept(graph);
    for (int op : {2, 3}) {
        auto run = std::find(steps.begin(), steps.end(), Step::run(OpId(op)));
        steps.insert(run + 1, Step::offload(graph.ops[OpId(op)].outputs.front()));
    }
    const LaneData data = lanes(graph, steps, LaneAxis::time);
    EXPECT_EQ(data.lanes, (std::vector{Lane::forward, Lane::recompute, Lane::backward, Lane::to_host}));
    std::vector<LaneBar> copies;
    for (const LaneBar& bar : data.bars)
        if (bar.lane == Lane::to_host) copies.push_back(bar);
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_DOUBLE_EQ(copies[1].begin, copies[0].end);
    EXPECT_NEAR(copies[0].end - copies[0].begin, (1 << 20) / 1e8 * 1e9, 1);
}

TEST(LaneData, FallsBackToEqualWidthsWhenNothingTakesTime) {
    Graph graph = LayeredGraph::make(3);
    EXPECT_EQ(natural_axis(*simulate(graph, all_kept(graph))), LaneAxis::time);
    for (Op& op : graph.ops) op.time = Nanoseconds(0);
    EXPECT_EQ(natural_axis(*simulate(graph, all_kept(graph))), LaneAxis::steps);
}

TEST(LaneData, IsEmptyForAScheduleThatCannotBePlayed) {
    const Graph graph = LayeredGraph::make(3);
    EXPECT_TRUE(lane_data(graph, all_kept(graph), Simulation(), LaneAxis::time).bars.empty());
}

}  // namespace
}  // namespace rematlas
