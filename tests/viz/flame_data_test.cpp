#include "viz/paint/flame_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"
#include "tests/core/support/update_on_host.h"
#include "tests/viz/layered_graph.h"
#include "viz/paint/flame_painter.h"

namespace rematlas {
namespace {

std::vector<Step> each_op_once(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    return lower(flat, keep_all_sequence(flat));
}

FlameData flame_of(const Graph& graph, const std::vector<Step>& steps, LaneAxis axis = LaneAxis::time) {
    const auto simulation = simulate(graph, steps);
    EXPECT_TRUE(simulation);
    return simulation ? flame_data(graph, steps, *simulation, axis) : FlameData();
}

std::vector<std::string> names_at(const FlameData& data, const Graph& graph, int level) {
    std::vector<std::string> names;
    for (const int box : data.levels[static_cast<std::size_t>(level)])
        names.emplace_back(module_of(data, graph, data.box(box)));
    return names;
}

/// Expects that boxes of a level do not overlap, that the boxes inside a box have exactly its runs, and that
/// each run has exactly one box of its own.
void expect_boxes_cover_the_runs(const FlameData& data) {
    std::vector<int> own(data.runs.size(), 0);
    for (std::size_t level = 0; level < data.levels.size(); ++level) {
        int next = 0;
        for (const int index : data.levels[level]) {
            const FlameBox& box = data.box(index);
            EXPECT_EQ(box.level, static_cast<int>(level));
            EXPECT_GE(box.first, next);
            EXPECT_LE(box.first, box.last);
            if (level == 0) {
                EXPECT_EQ(box.first, next) << "the uppermost boxes have all runs";
            }
            next = box.last + 1;
            const std::vector<int> inside = data.boxes_in(index);
            EXPECT_EQ(inside.empty(), box.is_run);
            if (box.is_run) {
                EXPECT_EQ(box.first, box.last);
                ++own[static_cast<std::size_t>(box.first)];
                continue;
            }
            if (level > 0) {
                EXPECT_GT(inside.size(), 1u) << "a box with one box alone in it is no level";
            }
            EXPECT_EQ(data.box(inside.front()).first, box.first);
            EXPECT_EQ(data.box(inside.back()).last, box.last);
            for (std::size_t i = 1; i < inside.size(); ++i)
                EXPECT_EQ(data.box(inside[i]).first, data.box(inside[i - 1]).last + 1);
        }
        if (level == 0) {
            EXPECT_EQ(next, static_cast<int>(data.runs.size()));
        }
    }
    EXPECT_EQ(std::count(own.begin(), own.end(), 1), std::ssize(own));
}

TEST(FlameData, BoxesOfEachLevelCoverTheRuns) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Graph graph = random_training_graph(seed, {.forward_ops = 12});
        const char* modules[] = {"", "a", "a.b", "a.b.0", "a.b.1.c", "a.d", "e.f.g", "a..b"};
        for (const OpId op : graph.ops.ids())
            graph.ops[op].module = modules[static_cast<std::size_t>(op.value) * (seed + 3) / 5 % 8];
        for (const LaneAxis axis : {LaneAxis::time, LaneAxis::steps})
            expect_boxes_cover_the_runs(flame_of(graph, each_op_once(graph), axis));
    }
    const Graph layered = LayeredGraph::make(5);
    expect_boxes_cover_the_runs(flame_of(layered, each_op_once(layered)));
}

TEST(FlameData, ModulesAreBoxesInBoxesUnderThePhases) {
    const Graph graph = LayeredGraph::make(2);
    const FlameData data = flame_of(graph, each_op_once(graph));
    EXPECT_EQ(names_at(data, graph, 0).size(), 3u) << "forward, loss, backward";
    const std::vector<std::string> second = names_at(data, graph, 1);
    EXPECT_EQ(second[0], "embed");
    EXPECT_EQ(second[1], "h");
    const std::vector<std::string> third = names_at(data, graph, 2);
    EXPECT_EQ(third[0], "h.0");
    EXPECT_EQ(third[1], "h.1");
    const std::vector<std::string> fourth = names_at(data, graph, 3);
    EXPECT_EQ(fourth[0], "h.0.norm");
    EXPECT_EQ(fourth[1], "h.0.mlp");
    EXPECT_EQ(fourth[2], "h.0") << "an op of the layer itself";
    EXPECT_EQ(names_at(data, graph, 4)[0], "h.0.mlp.fc");
}

TEST(FlameData, ALevelWithOneBoxAloneIsFolded) {
    Graph graph = LayeredGraph::make(2);
    for (Op& op : graph.ops) op.module = "net.body." + op.module;
    const FlameData data = flame_of(graph, each_op_once(graph));
    EXPECT_EQ(names_at(data, graph, 0)[0], "net.body") << "the whole forward pass is in it";
    EXPECT_EQ(names_at(data, graph, 1)[0], "net.body.embed");
    EXPECT_EQ(names_at(data, graph, 2)[0], "net.body.h.0");
}

TEST(FlameData, PathsWithoutEndHaveFewLevels) {
    Graph graph = LayeredGraph::make(2);
    for (const OpId op : graph.ops.ids()) {
        std::string path;
        for (int part = 0; part < 5000; ++part) path += "m" + std::to_string(op.value % (part + 1)) + ".";
        graph.ops[op].module = path + "end";
    }
    const FlameData data = flame_of(graph, each_op_once(graph));
    EXPECT_LT(data.levels.size(), 30u);
    expect_boxes_cover_the_runs(data);
}

TEST(FlameData, WhatRunsAgainHasBoxesOfItsOwn) {
    const Graph graph = LayeredGraph::make(3);
    std::vector<Step> steps = each_op_once(graph);
    const TensorId made = graph.ops[OpId(1)].outputs.front();
    const auto first = std::find(steps.begin(), steps.end(), Step::run(OpId(1)));
    steps.insert(first + 1, {Step::free(made), Step::run(OpId(1))});
    const FlameData data = flame_of(graph, steps);
    expect_boxes_cover_the_runs(data);
    EXPECT_EQ(data.levels[0].size(), 5u) << "forward, again, forward, loss, backward";
    const FlameBox& again = data.box(data.levels[0][1]);
    EXPECT_TRUE(data.run(again.first).again);
    EXPECT_EQ(data.sums(again.first, again.last).again, 1);
}

/// Returns the bytes of the outputs of all runs and the time of all runs, computed from the steps.
std::pair<Bytes, Nanoseconds> sums_of_steps(const Graph& graph, const std::vector<Step>& steps,
                                            const Simulation& simulation) {
    std::pair<Bytes, Nanoseconds> sum;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].runs()) continue;
        for (const TensorId output : graph.ops[steps[i].op()].outputs)
            sum.first += graph.tensors[output].bytes;
        sum.second += simulation.steps[i].end - simulation.steps[i].start;
    }
    return sum;
}

TEST(FlameData, SumsOfTheWholeAreThoseOfTheSimulation) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 10});
        const std::vector<Step> steps = each_op_once(graph);
        const auto simulation = simulate(graph, steps);
        ASSERT_TRUE(simulation);
        const FlameData data = flame_data(graph, steps, *simulation, LaneAxis::time);
        const FlameSums sums = data.sums(0, static_cast<int>(data.runs.size()) - 1);
        const auto [made, time] = sums_of_steps(graph, steps, *simulation);
        EXPECT_EQ(sums.time, simulation->time);
        EXPECT_EQ(sums.time, time);
        EXPECT_EQ(sums.made, made);
        EXPECT_EQ(sums.most_held, simulation->peak);
        EXPECT_EQ(sums.runs, static_cast<int>(graph.ops.size()));
        EXPECT_EQ(sums.waits, Nanoseconds(0));
    }
}

TEST(FlameData, SumsOfSpansAddUp) {
    const Graph graph = random_training_graph(7, {.forward_ops = 30});
    const FlameData data = flame_of(graph, each_op_once(graph));
    const int last = static_cast<int>(data.runs.size()) - 1;
    const FlameSums whole = data.sums(0, last);
    for (int cut = 0; cut < last; cut += 5) {
        const FlameSums a = data.sums(0, cut), b = data.sums(cut + 1, last);
        EXPECT_EQ(a.runs + b.runs, whole.runs);
        EXPECT_EQ(a.time + b.time, whole.time);
        EXPECT_EQ(a.made + b.made, whole.made);
        EXPECT_EQ(std::max(a.most_held, b.most_held), whole.most_held);
    }
    EXPECT_EQ(data.sums(-1, -1).runs, 0);
}

TEST(FlameData, WaitsAreNoTimeOfRuns) {
    Graph graph = small_graph();
    graph.device = Device{"test", Bytes(0), 1e9, 1e9};
    const TensorId a(1);
    const std::vector<Step> steps = {Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(a),
                                     Step::free(a),      Step::run(OpId(2)), Step::fetch(a),
                                     Step::run(OpId(3)), Step::run(OpId(4))};
    const FlameData data = flame_of(graph, steps);
    const FlameSums sums = data.sums(0, static_cast<int>(data.runs.size()) - 1);
    EXPECT_EQ(sums.time, Nanoseconds(50)) << "five ops of 10 ns";
    EXPECT_EQ(sums.waits, Nanoseconds(200)) << "a copy there and a copy back";
}

TEST(FlameData, ASpanHasTheRunsThatItTouches) {
    const Graph graph = LayeredGraph::make(2);
    const FlameData data = flame_of(graph, each_op_once(graph), LaneAxis::steps);
    EXPECT_EQ(data.runs_between(1.5, 3.2), std::pair(1, 3));
    EXPECT_EQ(data.runs_between(2, 3), std::pair(2, 2));
    EXPECT_EQ(data.runs_between(-9, 1e9), std::pair(0, static_cast<int>(data.runs.size()) - 1));
    EXPECT_EQ(data.runs_between(1e6, 1e9), std::pair(-1, -1));
}

TEST(FlameData, FindsBoxesByPlaceAndRunsByStep) {
    const Graph graph = LayeredGraph::make(3);
    const FlameData data = flame_of(graph, each_op_once(graph));
    for (std::size_t level = 0; level < data.levels.size(); ++level)
        for (const int index : data.levels[level]) {
            const FlameBox& box = data.box(index);
            const double middle = (data.begin_of(box) + data.end_of(box)) / 2;
            EXPECT_EQ(data.box_at(static_cast<int>(level), middle), index);
        }
    EXPECT_EQ(data.box_at(0, -1), -1);
    EXPECT_EQ(data.box_at(99, 0), -1);
    for (int i = 0; i < static_cast<int>(data.runs.size()); ++i)
        EXPECT_EQ(data.run_of_step(data.run(i).step), i);
    EXPECT_EQ(data.run_of_step(-1), -1);
}

TEST(FlameData, IsEmptyForAScheduleThatCannotBePlayed) {
    const Graph graph = LayeredGraph::make(2);
    const FlameData data = flame_data(graph, each_op_once(graph), Simulation(), LaneAxis::time);
    EXPECT_TRUE(data.boxes.empty());
    EXPECT_TRUE(data.levels.empty());
}

TEST(FlameData, RunsOnTheHostHaveTwoRowsBelow) {
    const Graph graph = graph_with_update();
    const Schedule schedule = with_update_on_host();
    const auto simulation = simulate(graph, schedule);
    ASSERT_TRUE(simulation);
    const FlameData data = flame_data(graph, schedule.steps, *simulation, LaneAxis::time);
    ASSERT_EQ(data.device_runs + 1, static_cast<int>(data.runs.size()));
    const FlameRun& update = data.runs.back();
    EXPECT_TRUE(update.on_host);
    EXPECT_EQ(update.op, OpId(2));
    EXPECT_EQ(std::pair(update.begin, update.end), std::pair(320.0, 350.0));
    EXPECT_EQ(data.run_of_step(update.step), data.device_runs);
    const FlameBox &above = data.boxes[data.boxes.size() - 2], &run = data.boxes.back();
    EXPECT_EQ(above.level, static_cast<int>(data.levels.size()) - 2);
    EXPECT_EQ(data.box(run.parent).first, above.first);
    EXPECT_TRUE(run.is_run && data.is_of_host(above));
    EXPECT_EQ(flame_name(data, graph, above), "on the host");
    EXPECT_EQ(data.box_at(run.level, 330), static_cast<int>(data.boxes.size()) - 1);
    EXPECT_EQ(data.host_sums().time, Nanoseconds(30));
    EXPECT_EQ(data.host_sums().runs, 1);
    EXPECT_EQ(data.device_sums().runs, data.device_runs) << "the device does not do what the host does";
    EXPECT_LT(data.runs_between(0, 1e9).second, data.device_runs);
    const Schedule other = with_update_on_device();
    const FlameData device = flame_data(graph, other.steps, *simulate(graph, other), LaneAxis::time);
    EXPECT_EQ(device.host_sums().runs, 0);
    EXPECT_EQ(device.device_runs, static_cast<int>(device.runs.size()));
}

}  // namespace
}  // namespace rematlas
