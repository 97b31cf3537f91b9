#include "viz/paint/lane_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/sharded_layers.h"
#include "tests/core/support/small_graph.h"
#include "tests/core/support/update_on_host.h"
#include "tests/viz/layered_graph.h"

namespace rematlas {
namespace {

std::vector<Step> all_kept(const Graph& graph) {
    FlatGraph flat = flatten(graph);
    return lower(flat, keep_all_sequence(flat));
}

/// Returns a schedule whose first op runs twice in succession.
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
    EXPECT_EQ(data.bars[0].lane, DrawnLane::forward);
    EXPECT_EQ(data.bars[1].lane, DrawnLane::recompute) << "the second run of an op is a recomputation";
    EXPECT_EQ(data.bars.back().lane, DrawnLane::backward);
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
        if (bar.lane != DrawnLane::forward || bar.phase != Phase::forward) continue;
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
        if (bar.begin > 0 && bar.lane == DrawnLane::forward) {
            EXPECT_EQ(bar.shared, LaneBar::kSameModule);
        }
    }
}

TEST(LaneData, CopiesOnOneLinkComeOneAfterTheOther) {
    Graph graph = LayeredGraph::make(3);
    graph.device = Device{"test", Bytes(1LL << 34), 1e8, 1e8};  // copying a MiB takes 10 ms, an op takes 1 ms
    std::vector<Step> steps = all_kept(graph);
    for (int op : {2, 3}) {
        auto run = std::find(steps.begin(), steps.end(), Step::run(OpId(op)));
        steps.insert(run + 1, Step::offload(graph.ops[OpId(op)].outputs.front()));
    }
    const LaneData data = lanes(graph, steps, LaneAxis::time);
    EXPECT_EQ(data.lanes, (std::vector{DrawnLane::forward, DrawnLane::recompute, DrawnLane::backward,
                                       DrawnLane::waiting, DrawnLane::to_host}));
    std::vector<LaneBar> copies;
    for (const LaneBar& bar : data.bars)
        if (bar.lane == DrawnLane::to_host) copies.push_back(bar);
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_DOUBLE_EQ(copies[1].begin, copies[0].end);
    EXPECT_NEAR(copies[0].end - copies[0].begin, (1 << 20) / 1e8 * 1e9, 1);
}

/// In these steps tensor 1, of 100 bytes, is on the host while the loss op runs. Each copy takes 100 ns, each
/// op 10 ns.
std::vector<Step> away_in_the_loss() {
    const TensorId a(1);
    return {Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(a),   Step::free(a),
            Step::run(OpId(2)), Step::fetch(a),     Step::run(OpId(3)), Step::run(OpId(4))};
}

TEST(LaneData, TellsWaitsAndWhatTheyAreFor) {
    Graph graph = small_graph();
    graph.device = Device{"test", Bytes(0), 1e9, 1e9};
    const LaneData data = lanes(graph, away_in_the_loss(), LaneAxis::time);
    std::vector<LaneBar> waits;
    for (const LaneBar& bar : data.bars)
        if (bar.lane == DrawnLane::waiting) waits.push_back(bar);
    ASSERT_EQ(waits.size(), 2u);
    EXPECT_EQ(std::pair(waits[0].begin, waits[0].end), std::pair(20.0, 120.0));
    EXPECT_EQ(waits[0].step, 3) << "the free";
    EXPECT_EQ(waits[0].copy, 2) << "the copy to the host";
    EXPECT_EQ(std::pair(waits[1].begin, waits[1].end), std::pair(130.0, 230.0));
    EXPECT_EQ(waits[1].step, 6) << "the run that reads it";
    EXPECT_EQ(waits[1].copy, 5) << "the copy back";
    EXPECT_NE(std::find(data.lanes.begin(), data.lanes.end(), DrawnLane::waiting), data.lanes.end());
    EXPECT_EQ(data.bar_at(DrawnLane::waiting, 60)->step, 3);
    EXPECT_EQ(data.bar_at(DrawnLane::waiting, 125), nullptr) << "the loss runs";
    EXPECT_EQ(data.bar_at(DrawnLane::to_device, 200)->step, 5);
    EXPECT_EQ(data.step_at(60), 1) << "what ran last";
    const LaneData kept = lanes(graph, all_kept(graph), LaneAxis::time);
    EXPECT_EQ(std::count(kept.lanes.begin(), kept.lanes.end(), DrawnLane::waiting), 0);
}

TEST(LaneData, AStepThatEndsWithACopyWaitsForIt) {
    Graph graph = small_graph();
    graph.device = Device{"test", Bytes(0), 1e9, 1e9};
    std::vector<Step> steps = all_kept(graph);
    steps.push_back(Step::offload(TensorId(5)));
    const LaneData data = lanes(graph, steps, LaneAxis::time);
    EXPECT_EQ(data.bars.back().end, 150);
    const LaneBar* wait = data.bar_at(DrawnLane::waiting, 100);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->copy, static_cast<int>(steps.size()) - 1);
    EXPECT_EQ(data.length, 150);
}

TEST(LaneData, TellsWhatTheHostHolds) {
    Graph graph = small_graph();
    graph.device = Device{"test", Bytes(0), 1e9, 1e9};
    std::vector<Step> steps = away_in_the_loss();
    steps.insert(steps.begin() + 7, Step::drop(TensorId(1)));
    const LaneData data = lanes(graph, steps, LaneAxis::time);
    EXPECT_EQ(data.host_peak, 100);
    ASSERT_EQ(data.host.size(), 3u) << "nothing, the tensor, nothing";
    EXPECT_EQ(std::pair(data.host[1].x, data.host[1].bytes), std::pair(20.0, std::int64_t{100}));
    EXPECT_EQ(std::pair(data.host[2].x, data.host[2].bytes), std::pair(240.0, std::int64_t{0}));
    EXPECT_EQ(data.host_at(19), Bytes(0));
    EXPECT_EQ(data.host_at(100), Bytes(100));
    EXPECT_TRUE(lanes(graph, all_kept(graph), LaneAxis::time).host.empty());
}

TEST(LaneData, OpsOnTheHostHaveALane) {
    const Graph graph = graph_with_update();
    const Schedule schedule = with_update_on_host();
    const LaneData data = lane_data(graph, schedule.steps, *simulate(graph, schedule), LaneAxis::time);
    EXPECT_EQ(data.lanes.back(), DrawnLane::on_host);
    const LaneBar* bar = data.bar_at(DrawnLane::on_host, 330);
    ASSERT_TRUE(bar);
    EXPECT_EQ(std::pair(bar->begin, bar->end), std::pair(320.0, 350.0));
    EXPECT_EQ(bar->phase, Phase::optimizer);
    EXPECT_EQ(schedule.steps[static_cast<std::size_t>(bar->step)], Step::run_host(OpId(2)));
    EXPECT_EQ(data.bar_at(DrawnLane::waiting, 300)->copy, bar->step) << "the end waits for it";
    const Schedule device = with_update_on_device();
    const LaneData other = lane_data(graph, device.steps, *simulate(graph, device), LaneAxis::time);
    EXPECT_EQ(std::count(other.lanes.begin(), other.lanes.end(), DrawnLane::on_host), 0);
}

TEST(LaneData, EachQueueOfCollectivesHasALane) {
    Graph graph = sharded_layers(2, 100, 60);
    graph.ops[OpId(0)].collective->queue = "tp";
    const LaneData data = lanes(graph, all_kept(graph), LaneAxis::time);
    EXPECT_EQ(data.queues, (std::vector<std::string>{"tp", "fsdp"}));
    EXPECT_EQ(std::count(data.lanes.begin(), data.lanes.end(), lane_of_queue(0)), 1);
    EXPECT_EQ(std::count(data.lanes.begin(), data.lanes.end(), lane_of_queue(1)), 1);
    const LaneBar* bar = data.bar_at(lane_of_queue(0), 30);
    ASSERT_TRUE(bar);
    EXPECT_EQ(std::pair(bar->begin, bar->end), std::pair(0.0, 60.0));
    EXPECT_EQ(data.bar_at(DrawnLane::waiting, 30)->copy, bar->step) << "the first layer waits for its weight";
    EXPECT_EQ(data.bar_at(DrawnLane::forward, 30), nullptr);
    const LaneData runs = lanes(graph, all_kept(graph), LaneAxis::steps);
    EXPECT_EQ(std::count(runs.lanes.begin(), runs.lanes.end(), lane_of_queue(0)), 0);
    EXPECT_EQ(runs.bar_at(DrawnLane::forward, 0.5)->step, 0);
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
