#include "viz/paint/memory_stack.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/random_graph.h"
#include "tests/viz/layered_graph.h"

namespace rematlas {
namespace {

/// Returns a schedule for a budget between the bytes of the residents and the peak without recomputation;
/// empty if the solver found none.
std::vector<Step> solved_steps(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const auto all = simulate(graph, lower(flat, keep_all_sequence(flat)));
    const auto solver = make_atlas({.max_moves = 1'000, .first_cycle = 200});
    const Bytes budget((all->peak.value * 7 + flat.resident_bytes * 3) / 10);
    const Answer answer = solver->solve({graph, flat}, budget, {.time = std::chrono::hours(1)}, {});
    const auto* solution = std::get_if<Solution>(&answer);
    return solution ? solution->steps : std::vector<Step>();
}

void expect_layers_are_what_is_held(const Graph& graph, const std::vector<Step>& steps) {
    const auto played = simulate(graph, steps);
    ASSERT_TRUE(played);
    const MemoryStack stack = memory_stack(graph, steps, module_groups(graph));
    for (std::size_t i = 0; i < steps.size(); ++i) {
        std::int64_t sum = 0;
        for (const MemoryLayer& layer : stack) {
            EXPECT_GE(layer.during[i], 0) << layer.name << " at " << i;
            sum += layer.during[i];
        }
        ASSERT_EQ(sum, played->steps[i].during.value) << "at " << i;
    }
}

TEST(MemoryStack, AddsUpToWhatIsHeldAtEachStep) {
    int found = 0, in_place = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Graph graph = random_training_graph(seed, {.forward_ops = 8});
        for (const OpId op : graph.ops.ids()) graph.ops[op].module = "part." + std::to_string(op.value % 3);
        const std::vector<Step> steps = solved_steps(graph);
        if (steps.empty()) continue;
        ++found;
        for (const Step& step : steps) in_place += step.kind == StepKind::run_inplace;
        expect_layers_are_what_is_held(graph, steps);
    }
    EXPECT_GT(found, 15);
    EXPECT_GT(in_place, 10);
}

TEST(MemoryStack, TellsTheLayerAtAHeight) {
    const MemoryStack stack = {{MemoryLayer::Kind::resident, "resident", {10, 10}},
                               {MemoryLayer::Kind::module, "a", {0, 5}},
                               {MemoryLayer::Kind::module, "b", {3, 2}}};
    EXPECT_EQ(layer_at(stack, 0, Bytes(9)), 0);
    EXPECT_EQ(layer_at(stack, 0, Bytes(10)), 2) << "the one between holds nothing then";
    EXPECT_EQ(layer_at(stack, 1, Bytes(14)), 1);
    EXPECT_EQ(layer_at(stack, 1, Bytes(17)), -1);
}

TEST(MemoryStack, FollowsCopiesToTheHostAndBack) {
    Graph graph = LayeredGraph::make(3);
    graph.device = Device{};
    graph.device->links.to_host_bytes_per_second = graph.device->links.to_device_bytes_per_second =
        1e18;  // copies take no time
    const FlatGraph flat = flatten(graph);
    std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    // The output of the first op is offloaded, freed and fetched again before the step that finally frees it.
    const TensorId moved = graph.ops[OpId(0)].outputs.front();
    const auto freed = std::find(steps.begin(), steps.end(), Step::free(moved));
    ASSERT_NE(freed, steps.end());
    *freed = Step::offload(moved);
    steps.insert(freed + 1, {Step::free(moved), Step::fetch(moved), Step::free(moved)});
    expect_layers_are_what_is_held(graph, steps);
}

TEST(ModuleGroups, TakeEqualLayersTogetherAndSplitTheHeaviest) {
    EXPECT_EQ(module_class("blocks.11.attn.0"), "blocks.*.attn.*");
    EXPECT_EQ(module_class(""), "");
    EXPECT_EQ(module_class("layer1.conv2d"), "layer1.conv2d");

    Graph graph = LayeredGraph::make(4);
    for (const OpId op : graph.ops.ids())
        graph.ops[op].module =
            "net.blocks." + std::to_string(op.value % 4) + (op.value % 2 ? ".attn" : ".mlp");
    const ModuleGroups groups = module_groups(graph);
    EXPECT_EQ(groups.names.size(), 2u);
    for (const OpId op : graph.ops.ids())
        EXPECT_EQ(groups.names[static_cast<std::size_t>(groups.of[op])],
                  op.value % 2 ? "net.blocks.*.attn" : "net.blocks.*.mlp");
}

TEST(ModuleGroups, AreNoMoreThanAskedFor) {
    Graph graph = LayeredGraph::make(20);
    for (const OpId op : graph.ops.ids())
        graph.ops[op].module = std::string("part_") + static_cast<char>('a' + op.value % 20);
    for (const std::size_t most : {1u, 3u, 30u}) {
        const ModuleGroups groups = module_groups(graph, most);
        EXPECT_LE(groups.names.size(), most + 3);
        EXPECT_EQ(groups.of.size(), graph.ops.size());
        for (const int group : groups.of) {
            EXPECT_GE(group, 0);
            EXPECT_LT(group, static_cast<int>(groups.names.size()));
        }
    }
}

TEST(ModuleGroups, FlatNamesAreTakenTogetherWithoutTheirNumbers) {
    Graph graph = LayeredGraph::make(20);
    for (const OpId op : graph.ops.ids())
        graph.ops[op].module = "conv" + std::to_string(op.value % 40) + (op.value % 2 ? "_bn" : "_relu");
    for (const std::string& name : module_groups(graph).names)
        EXPECT_TRUE(name == "conv*_bn" || name == "conv*_relu") << name;
}

TEST(ModuleGroups, OpsOfNoModuleAreToldApartByWhatTheyDo) {
    Graph graph = LayeredGraph::make(3);
    for (Op& op : graph.ops) {
        op.module.clear();
        op.phase = Phase::forward;
    }
    EXPECT_EQ(module_groups(graph).names, std::vector<std::string>{"other"});
    const OpId loss(2), gradient(3), update(4);
    graph.ops[loss].phase = Phase::loss;
    graph.ops[gradient].phase = Phase::backward;
    graph.ops[gradient].of = loss;
    graph.ops[update].phase = Phase::optimizer;
    const ModuleGroups groups = module_groups(graph);
    EXPECT_EQ(groups.names, (std::vector<std::string>{"loss", "optimizer", "other"}));
    EXPECT_EQ(groups.of[gradient], groups.of[loss]) << "the gradients of the outputs are the loss's";
    EXPECT_EQ(groups.of[update], 1);
}

TEST(ModuleGroups, WhatTheLossReadsHasWeight) {
    Graph graph = LayeredGraph::make(3);
    for (Op& op : graph.ops)
        if (op.phase == Phase::forward) op.module = "body";
    OpId last;
    for (const OpId op : graph.ops.ids())
        if (graph.ops[op].phase == Phase::forward) last = op;
    graph.ops[last].module = "head";
    Op loss;
    loss.name = "loss";
    loss.phase = Phase::loss;
    loss.inputs = graph.ops[last].outputs;
    graph.ops.push_back(loss);
    for (Op& op : graph.ops)
        if (op.phase == Phase::backward) std::erase(op.inputs, graph.ops[last].outputs.front());
    const std::vector<std::string> names = module_groups(graph).names;
    EXPECT_NE(std::find(names.begin(), names.end(), "head"), names.end());
}

}  // namespace
}  // namespace rematlas
