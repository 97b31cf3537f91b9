#include "viz/report/page_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/planning/request.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_graph.h"
#include "tests/viz/layered_graph.h"
#include "viz/paint/draw.h"
#include "viz/paint/memory_stack.h"
#include "viz/report/packed_column.h"
#include "viz/report/plain_step.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::ElementsAre;

using Numbers = std::vector<std::int64_t>;

/// Returns the numbers of a column that was filled with `add_change`.
Numbers unpacked_changes(std::string_view letters) {
    Numbers numbers = unpacked(letters);
    for (std::size_t i = 1; i < numbers.size(); ++i) numbers[i] += numbers[i - 1];
    return numbers;
}

std::int64_t sum_of(const MemoryStack& stack, std::size_t step) {
    std::int64_t sum = 0;
    for (const MemoryLayer& layer : stack) sum += layer.during[step];
    return sum;
}

class PageData : public testing::Test {
  protected:
    static Schedule solved(const Graph& graph, const char* budget) {
        const Result<Outcome> outcome =
            solve(graph, {.solver = "chen-greedy", .budget = *parse_budget(budget)});
        return *outcome->schedule();
    }
    static json page(const ReportOf& of) {
        const Result<json> made = page_data(of);
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }
    /// Expects that the numbers of a plan in a page are those of the schedule's simulation, at each step.
    static void expect_played(const json& plan, const Graph& graph, const Schedule& schedule) {
        const Result<Simulation> played = simulate(graph, schedule);
        ASSERT_TRUE(played);
        EXPECT_EQ(plan["peak"], played->peak.value);
        EXPECT_EQ(plan["time"], played->time.value);
        EXPECT_EQ(plan["peak_step"], played->peak_step);
        const Numbers during = unpacked_changes(plan["during"].get<std::string>());
        const Numbers ids = unpacked_changes(plan["ids"].get<std::string>());
        const MemoryStack stack = memory_stack(graph, schedule.steps, module_groups(graph), schedule.homes);
        ASSERT_EQ(during.size(), schedule.steps.size());
        ASSERT_EQ(plan["kinds"].get<std::string>().size(), schedule.steps.size());
        for (std::size_t i = 0; i < during.size(); ++i) {
            EXPECT_EQ(during[i], played->steps[i].during.value) << "step " << i;
            EXPECT_EQ(during[i], sum_of(stack, i)) << "step " << i;
            EXPECT_EQ(ids[i], schedule.steps[i].id) << "step " << i;
        }
    }
};

TEST(PackedColumns, HoldEveryNumber) {
    const Numbers numbers = {0,
                             1,
                             -1,
                             15,
                             -16,
                             16,
                             31,
                             32,
                             1'000'000,
                             -987'654'321'012,
                             std::numeric_limits<std::int64_t>::max(),
                             std::numeric_limits<std::int64_t>::min()};
    PackedColumn column, changes;
    for (const std::int64_t number : numbers) column.add(number);
    EXPECT_EQ(unpacked(column.take()), numbers);
    for (const std::int64_t number : {5, 5, 3, 1000}) changes.add_change(number);
    const std::string letters = changes.take();
    EXPECT_THAT(unpacked_changes(letters), ElementsAre(5, 5, 3, 1000));
    EXPECT_THAT(unpacked(letters), ElementsAre(5, 0, -2, 997));
}

TEST(PackedColumns, TakeOneLetterForASmallNumber) {
    PackedColumn column;
    for (std::int64_t number = -15; number <= 15; ++number) column.add(number);
    EXPECT_EQ(column.take().size(), 31u);
}

TEST_F(PageData, TellsShapesLinesAndClasses) {
    Graph graph = random_training_graph(1, {.forward_ops = 8});
    graph.tensors[TensorId(0)].layout = TensorLayout{"f32", {4, 8}};
    graph.ops[OpId(0)].source = "net.py:41";
    graph.module_classes["layers.0"] = "Linear";
    const json told = page({.graph = &graph});
    EXPECT_THAT(told["strings"], testing::Contains("f32[4,8]"));
    EXPECT_THAT(told["strings"], testing::Contains("net.py:41"));
    EXPECT_EQ(told["classes"], (json{{"layers.0", "Linear"}}));
    EXPECT_FALSE(told["tensors"]["layout"].get<std::string>().empty());
    EXPECT_FALSE(told["ops"]["source"].get<std::string>().empty());
}

TEST_F(PageData, HoldsWhatTheSimulatorSaysOfEachStep) {
    const Graph graph = LayeredGraph::make(8);
    const Schedule schedule = solved(graph, "70%"), plain = plain_step(graph);
    const json made = page({.graph = &graph, .schedules = {{"s", &schedule}}});
    ASSERT_EQ(made["plans"].size(), 2u) << "the step without recomputation comes last";
    expect_played(made["plans"][0], graph, schedule);
    expect_played(made["plans"][1], graph, plain);
}

TEST_F(PageData, HoldsTheStepWithoutRecomputationOnce) {
    const Graph graph = LayeredGraph::make(4);
    const Schedule plain = plain_step(graph), schedule = solved(graph, "70%");
    const json made = page({.graph = &graph, .schedules = {{"all", &plain}, {"s", &schedule}}});
    EXPECT_EQ(made["plans"].size(), 2u);
    EXPECT_EQ(made["plain"], 0);
}

TEST_F(PageData, HoldsStepsInPlaceAndWorkspaces) {
    for (const std::uint64_t seed : {3, 4, 5, 6}) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 25});
        const json made = page({.graph = &graph});
        expect_played(made["plans"][0], graph, plain_step(graph));
    }
}

TEST_F(PageData, HoldsTheGraph) {
    const Graph graph = LayeredGraph::make(3);
    const json made = page({.graph = &graph});
    const json& ops = made["ops"];
    const Numbers names = unpacked(ops["name"].get<std::string>());
    const Numbers times = unpacked(ops["time"].get<std::string>());
    ASSERT_EQ(names.size(), graph.ops.size());
    for (const OpId op : graph.ops.ids()) {
        EXPECT_EQ(made["strings"][static_cast<std::size_t>(names[op.index()])], graph.ops[op].name);
        EXPECT_EQ(times[op.index()], graph.ops[op].time.value);
    }
    const Numbers bytes = unpacked(made["tensors"]["bytes"].get<std::string>());
    ASSERT_EQ(bytes.size(), graph.tensors.size());
    for (const TensorId tensor : graph.tensors.ids())
        EXPECT_EQ(bytes[tensor.index()], graph.tensors[tensor].bytes.value);
}

TEST_F(PageData, PointsOfASweepNameTheirPlans) {
    const Graph graph = LayeredGraph::make(6);
    const Sweep sweep = *run_sweep(graph, {.solvers = {"chen-greedy"}, .count = 4});
    const Schedule schedule = solved(graph, "70%");
    const json made = page({.graph = &graph, .schedules = {{"s", &schedule}}, .sweeps = {&sweep}});
    ASSERT_EQ(made["curves"].size(), 1u);
    std::size_t plain = 0;
    for (const json& point : made["curves"][0]["points"]) {
        if (point["plan"] == -1) continue;
        const json& plan = made["plans"][point["plan"].get<std::size_t>()];
        EXPECT_EQ(plan["peak"], point["peak"]);
        plain += plan["solver"] == "keep-all";
    }
    EXPECT_GE(plain, 1u) << "the largest budget needs no recomputation";
}

TEST_F(PageData, EveryOpHasOnePlaceAmongTheBlocks) {
    const Graph graph = LayeredGraph::make(6);
    const json made = page({.graph = &graph});
    const json& blocks = made["blocks"];
    if (blocks.contains("missing")) GTEST_SKIP() << blocks["missing"];
    std::vector<int> found(graph.ops.size(), 0);
    std::size_t units = 0;
    for (const json& letters : blocks["units"]) {
        const Numbers unit = unpacked(letters.get<std::string>());
        EXPECT_LT(unit[0], static_cast<std::int64_t>(units++)) << "units come after those around them";
        const Numbers shape =
            unpacked(blocks["shapes"][static_cast<std::size_t>(unit[1])].get<std::string>());
        EXPECT_EQ(shape[0], static_cast<std::int64_t>(unit.size()) - 8);
        for (std::size_t i = 8; i < unit.size(); ++i)
            if (const std::int64_t what = unit[i] / 2; what % 2 == 0)
                ++found[static_cast<std::size_t>(what / 2)];
    }
    for (const int times : found) EXPECT_EQ(times, 1);
    EXPECT_LT(blocks["shapes"].size(), units) << "equal layers share what they look like";
}

TEST_F(PageData, WithoutALayoutSaysWhy) {
    const Graph graph = LayeredGraph::make(2);
    const json made = page({.graph = &graph, .layout = {.worker = "/nowhere/rematlas-layout"}});
    EXPECT_NE(made["blocks"]["missing"].get<std::string>(), "");
    EXPECT_TRUE(made.contains("plans"));
}

TEST_F(PageData, OfASweepWithoutItsGraphHoldsTheCurvesAlone) {
    const Graph graph = LayeredGraph::make(4);
    const Sweep sweep = *run_sweep(graph, {.solvers = {"chen-greedy"}, .count = 3});
    const json made = page({.sweeps = {&sweep}});
    EXPECT_FALSE(made.contains("ops"));
    EXPECT_EQ(made["curves"][0]["points"].size(), sweep.curves[0].points.size());
}

}  // namespace
}  // namespace rematlas
