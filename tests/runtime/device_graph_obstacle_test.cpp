#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/schedule/run_sequence.h"
#include "runtime/replay/device_graph_step.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

/// A graph whose op 0, in module "block", reads tensor 0 and makes tensor 1. The op is aten::exp unless a
/// test changes it.
struct OneOp {
    Graph graph;
    Tape tape;

    OneOp() {
        graph.tensors = {Tensor{"x", Bytes(512), TensorKind::input},
                         Tensor{"y", Bytes(512), TensorKind::activation}};
        graph.ops.push_back(
            {.name = "aten::exp", .inputs = {TensorId(0)}, .outputs = {TensorId(1)}, .module = "block"});
        for (int i = 0; i < 2; ++i)
            tape.operands.push_back({.tensor = TensorId(i), .sizes = {8}, .strides = {1}});
        tape.ops.push_back({.name = "aten::exp", .arguments = {argument(0)}, .returns = {TensorId(1)}});
    }
    static Argument argument(int operand, Argument::Kind kind = Argument::Kind::tensor) {
        return {kind, {}, {operand}};
    }
    TapeOp& op() { return tape.ops[OpId(0)]; }
    std::optional<std::string> obstacle() const { return obstacle({Step::run(OpId(0))}); }
    std::optional<std::string> obstacle(const std::vector<Step>& steps) const {
        return device_graph_obstacle(graph, tape, steps);
    }
};

TEST(DeviceGraphObstacle, OrdinaryOpsAre) {
    EXPECT_EQ(OneOp().obstacle(), std::nullopt);
}

TEST(DeviceGraphObstacle, TheObstacleNamesTheOpAndItsModule) {
    OneOp step;
    step.op().name = step.graph.ops[OpId(0)].name = "aten::nonzero";
    EXPECT_THAT(step.obstacle(), Optional(HasSubstr("op 0 aten::nonzero in block: the shape")));
}

TEST(DeviceGraphObstacle, OpsThatTheHostWaitsForAreNot) {
    for (const char* name : {"aten::_local_scalar_dense", "aten::equal", "aten::masked_select",
                             "aten::_unique2", "aten::linalg_inv_ex", "aten::_ctc_loss"}) {
        OneOp step;
        step.op().name = name;
        EXPECT_NE(step.obstacle(), std::nullopt) << name;
    }
}

TEST(DeviceGraphObstacle, IndicesAreAndMasksAreNot) {
    OneOp step;
    step.op().name = "aten::index";
    step.op().overload = "Tensor";
    step.op().arguments.push_back(OneOp::argument(1, Argument::Kind::optional_tensors));
    step.tape.operands[1].dtype = c10::ScalarType::Long;
    EXPECT_EQ(step.obstacle(), std::nullopt);
    step.tape.operands[1].dtype = c10::ScalarType::Bool;
    EXPECT_THAT(step.obstacle(), Optional(HasSubstr("mask")));
}

TEST(DeviceGraphObstacle, HostMemoryIsOnlyReadWhereItIsANumber) {
    OneOp step;
    step.tape.operands[0].on_host = true;
    EXPECT_THAT(step.obstacle(), Optional(HasSubstr("copies from host")));
    step.tape.operands[0].sizes = step.tape.operands[0].strides = {};
    EXPECT_EQ(step.obstacle(), std::nullopt);
    step.op().name = "aten::copy_";
    EXPECT_THAT(step.obstacle(), Optional(HasSubstr("copies from host")));
    OneOp made;
    made.tape.operands[1].on_host = true;
    EXPECT_THAT(made.obstacle(), Optional(HasSubstr("makes a tensor in host")));
}

TEST(DeviceGraphObstacle, RandomOpsAreWhenTheirDrawsAreKnown) {
    OneOp step;
    step.graph.ops[OpId(0)].random = true;
    EXPECT_THAT(step.obstacle(), Optional(HasSubstr("generator")));
    step.op().draws = 4;
    EXPECT_EQ(step.obstacle(), std::nullopt);
}

TEST(DeviceGraphObstacle, WhatDoesNotRunIsNoObstacle) {
    OneOp step;
    step.op().name = "aten::nonzero";
    EXPECT_EQ(step.obstacle({}), std::nullopt);
    EXPECT_THAT(step.obstacle({Step::offload(TensorId(0))}), Optional(HasSubstr("moved to the host")));
}

TEST(DeviceGraphObstacle, WholeModelsAre) {
    for (const char* name : {"resnet_traced", "gpt_scripted", "unet_scripted", "translator_traced"}) {
        const Graph& graph = test::captured(name);
        const Result<Tape> tape =
            tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size());
        ASSERT_TRUE(tape);
        const FlatGraph flat = flatten(graph);
        const auto obstacle = device_graph_obstacle(graph, *tape, lower(flat, keep_all_sequence(flat)));
        EXPECT_EQ(obstacle, std::nullopt) << name << ": " << obstacle.value_or("");
    }
}

}  // namespace
}  // namespace rematlas
