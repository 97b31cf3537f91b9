#include "app/explorer/session/lane_data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

SchedulePtr with_a_rerun(const GraphPtr& graph) {
    Schedule schedule = keep_all_schedule(*graph);
    const TensorId made = graph->graph.ops[OpId(0)].outputs.front();
    schedule.steps.insert(schedule.steps.begin(), {Step::run(OpId(0)), Step::free(made)});
    return prepare_schedule(graph, schedule);
}

std::int64_t highest(const LaneData& data) {
    std::int64_t most = 0;
    for (const MemoryPoint& point : data.memory) most = std::max(most, point.bytes);
    return most;
}

TEST(LaneData, HasABarForEveryRunInItsLane) {
    const GraphPtr graph = loaded_chain(3);
    const LaneData data = lane_data(*with_a_rerun(graph), LaneAxis::time);
    ASSERT_EQ(data.bars.size(), graph->graph.ops.size() + 1);
    EXPECT_EQ(data.bars[0].lane, Lane::forward);
    EXPECT_EQ(data.bars[1].lane, Lane::recompute) << "the second run of an op is a recomputation";
    EXPECT_EQ(data.bars.back().lane, Lane::backward);
    EXPECT_TRUE(std::is_sorted(data.bars.begin(), data.bars.end(),
                               [](const LaneBar& a, const LaneBar& b) { return a.begin < b.begin; }));
}

TEST(LaneData, ReachesThePredictedPeakAndTime) {
    const GraphPtr graph = loaded_chain(5);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    for (LaneAxis axis : {LaneAxis::time, LaneAxis::steps}) {
        const LaneData data = lane_data(*schedule, axis);
        EXPECT_EQ(highest(data), graph->full_peak.value);
        EXPECT_EQ(data.peak, graph->full_peak.value);
    }
    EXPECT_DOUBLE_EQ(lane_data(*schedule, LaneAxis::time).length, static_cast<double>(graph->flat.base_time));
    EXPECT_DOUBLE_EQ(lane_data(*schedule, LaneAxis::steps).length,
                     static_cast<double>(graph->graph.ops.size()));
}

TEST(LaneData, FindsTheRunUnderThePointer) {
    const GraphPtr graph = loaded_chain(3);
    const LaneData data = lane_data(*with_a_rerun(graph), LaneAxis::steps);
    for (const LaneBar& bar : data.bars) EXPECT_EQ(data.step_at((bar.begin + bar.end) / 2), bar.step);
    EXPECT_EQ(data.step_at(-5), data.bars.front().step);
    EXPECT_EQ(data.step_at(1e9), data.bars.back().step);
    EXPECT_EQ(LaneData().step_at(0), -1);
}

TEST(LaneData, FallsBackToEqualWidthsWhenNothingTakesTime) {
    Graph free_of_cost = training_chain(3, Bytes(1024), Nanoseconds(0));
    const GraphPtr graph = prepare_graph(free_of_cost, {}, {});
    EXPECT_EQ(natural_axis(*prepare_schedule(graph, keep_all_schedule(*graph))), LaneAxis::steps);
}

TEST(LaneData, IsEmptyForAScheduleThatCannotBePlayed) {
    const GraphPtr graph = loaded_chain(3);
    Schedule broken = keep_all_schedule(*graph);
    broken.steps.erase(broken.steps.begin());
    const SchedulePtr schedule = prepare_schedule(graph, broken);
    EXPECT_FALSE(schedule->ok());
    EXPECT_TRUE(lane_data(*schedule, LaneAxis::time).bars.empty());
}

}  // namespace
}  // namespace rematlas::explorer
