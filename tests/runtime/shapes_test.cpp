// Compares captures from shapes with captures on the device. Both must have the same ops on the same tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/graph/graph_file.h"
#include "core/planning/request.h"
#include "runtime/capture/capture_shapes.h"
#include "runtime/model/load_model.h"
#include "runtime/shapes/cuda_stand_in.h"
#include "runtime/shapes/shape_tensor.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::string& group) {
    if (group == "models") {
        std::vector<std::string> names;
        for (const char* model : {"mlp", "resnet", "gpt", "unet", "translator", "lstm", "inplace"})
            for (const char* form : {"_scripted", "_traced"}) names.push_back(std::string(model) + form);
        return names;
    }
    const auto path = test::model_path("modules/modules").replace_extension(".json");
    std::vector<std::string> names;
    for (const auto& name : nlohmann::json::parse(read_file(path).take()).at(group))
        names.push_back("modules/" + name.get<std::string>());
    return names;
}

/// Returns a line for each tensor and each op, with the facts that must be equal in both captures.
std::vector<std::string> lines_of(const Graph& graph, nlohmann::json tape) {
    std::vector<std::string> lines;
    for (const Tensor& tensor : graph.tensors)
        lines.push_back(tensor.name + " " + std::to_string(tensor.bytes.value) + " " +
                        std::string(to_string(tensor.kind)));
    Graph plain{.name = "graph", .tensors = graph.tensors, .ops = graph.ops, .results = graph.results};
    for (Op& op : plain.ops) op.time = Nanoseconds(0), op.workspace = Bytes(0);
    lines.push_back(graph_text(plain));
    for (nlohmann::json& op : tape.at("ops")) op.erase("draws");
    for (const auto& [key, value] : tape.items())
        for (const auto& item : value.is_array() ? value : nlohmann::json::array({value}))
            lines.push_back(key + " " + item.dump());
    return lines;
}

/// Returns the alignment of the addresses that are planned for the graph.
std::int64_t planned_alignment(const Graph& graph) {
    const Result<Outcome> outcome =
        solve(graph, {.solver = "keep-all", .budget = *parse_budget("200%"), .arena = true});
    const Schedule* schedule = outcome ? outcome->schedule() : nullptr;
    return schedule && schedule->addresses ? schedule->addresses->alignment : 0;
}

class Shapes : public ::testing::TestWithParam<std::string> {};

TEST_P(Shapes, GiveTheOpsAndTensorsOfACaptureOnTheHost) {
    for (const std::string& name : names_of(GetParam())) {
        SCOPED_TRACE(name);
        Result<CapturedStep> step = record_shapes(test::model_path(name), test::quick(name), test::cpu());
        ASSERT_TRUE(step) << step.error().message;
        const Graph& measured = test::captured(name);
        const auto from_shapes = lines_of(step->graph, to_json(step->tape));
        const auto on_host = lines_of(measured, *measured.replay);
        ASSERT_EQ(from_shapes.size(), on_host.size());
        for (std::size_t i = 0; i < on_host.size(); ++i) ASSERT_EQ(from_shapes[i], on_host[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Table, Shapes,
                         ::testing::Values("models", "convolution", "linear", "normalization", "dropout",
                                           "attention", "recurrent", "loss", "arithmetic", "precision",
                                           "complex", "image", "structure"),
                         [](const auto& info) { return info.param; });

std::string refusal_of(const std::string& name) {
    const Result<CapturedStep> step = record_shapes(test::model_path(name), test::quick(name), test::cpu());
    EXPECT_FALSE(step) << name;
    return step ? std::string() : step.error().message;
}

TEST(ShapesRefused, WhatACaptureOnTheHostRefusesInTheSameWords) {
    for (const std::string& name : names_of("refused")) {
        const Result<Graph> graph = capture(test::model_path(name), test::quick(name), test::cpu());
        ASSERT_FALSE(graph) << name;
        EXPECT_EQ(refusal_of(name), graph.error().message);
    }
}

TEST(ShapesRefused, ShapesThatDoNotFitNameTheOp) {
    CaptureOptions options = test::quick("modules/linear");
    options.inputs = {parse_input_spec("f32[4,9]").take()};
    const Result<CapturedStep> step = record_shapes(test::model_path("modules/linear"), options, test::cpu());
    ASSERT_FALSE(step);
    EXPECT_THAT(step.error().message,
                AllOf(HasSubstr("linear.pt"), HasSubstr("shapes cannot be multiplied")));
    EXPECT_EQ(step.error().message.find('\n'), std::string::npos);
}

TEST(ShapesPlanned, TakeTheirCostsFromTheProfileAndCannotBeRun) {
    const DeviceProfile profile = device_profile("cpu").take();
    const Result<Graph> graph =
        capture_for(test::model_path("mlp_traced"), test::quick("mlp_traced"), profile);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ((*graph->provenance)["device"], "meta:cpu");
    ASSERT_TRUE(graph->device);
    EXPECT_EQ(graph->device->name, profile.name);
    EXPECT_EQ(graph->device->alignment, 64);
    EXPECT_FALSE(graph->device->allocator);
    EXPECT_EQ(planned_alignment(*graph), 64);
    for (const Op& op : graph->ops) EXPECT_GE(op.time, profile.launch) << op.name;
    EXPECT_EQ(graph->replay, nullptr);

    const Model model = load_model(test::model_path("mlp_traced")).take();
    const Result<Executor> executor = Executor::create(*graph, model, test::cpu());
    ASSERT_FALSE(executor);
    EXPECT_THAT(executor.error().message, AllOf(HasSubstr("captured from shapes"), HasSubstr("meta:cpu")));
}

TEST(ShapesPlanned, LossesOfTheProgramAreCaptured) {
    for (const Loss loss : {Loss::sum, Loss::mean, Loss::cross_entropy}) {
        CaptureOptions options = test::quick("gpt_scripted");
        options.loss = loss;
        const Result<Graph> measured = capture(test::model_path("gpt_scripted"), options, test::cpu());
        ASSERT_TRUE(measured) << measured.error().message;
        const Result<CapturedStep> step =
            record_shapes(test::model_path("gpt_scripted"), options, test::cpu());
        ASSERT_TRUE(step) << step.error().message;
        EXPECT_EQ(lines_of(step->graph, to_json(step->tape)), lines_of(*measured, *measured->replay));
    }
}

/// The capture never runs the step as a whole. The plan is the first to run the whole step.
TEST(ShapesProfiled, OpByOpGiveAPlanThatTrainsAsTheOriginal) {
    for (const char* name :
         {"gpt_scripted", "resnet_traced", "lstm_traced", "inplace_scripted", "unet_scripted"}) {
        SCOPED_TRACE(name);
        const Result<Graph> graph = capture_op_by_op(test::model_path(name), test::quick(name), test::cpu());
        ASSERT_TRUE(graph) << graph.error().message;
        EXPECT_EQ(*graph->replay, *test::captured(name).replay) << "how far random ops draw is measured";
        const Plan plan = test::plan_of(*graph, test::shuffled_with_reruns(flatten(*graph), 0.4, true, 3));
        const Result<RunReport> report =
            run_plan(plan, test::model_path(name), {.steps = 2, .verify = true}, test::cpu());
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->verified) << report->mismatch;
        EXPECT_LE(report->measured_peak, report->predicted_peak);
    }
}

TEST(ShapesProfiled, OpByOpFindTheWorkspacesOfTheStep) {
    const Graph& measured = test::captured("resnet_scripted");
    const Result<Graph> graph =
        capture_op_by_op(test::model_path("resnet_scripted"), test::quick("resnet_scripted"), test::cpu());
    ASSERT_TRUE(graph) << graph.error().message;
    for (OpId id : measured.ops.ids())
        EXPECT_EQ(graph->ops[id].workspace, measured.ops[id].workspace) << measured.ops[id].name;
}

TEST(StandIn, AttentionKernelsFollowTheDevice) {
    const AttentionCall half{.dtype = "bf16", .width = 64, .value_width = 64, .gradient = true};
    AttentionCall masked = half, single = half, odd = half, grouped = single;
    masked.masked = true;
    single.dtype = "f32";
    odd.width = odd.value_width = 20;
    grouped.dtype = "f32", grouped.grouped = true;
    EXPECT_EQ(attention_kernel(7.0, half), AttentionKernel::math) << "no bfloat16 there";
    EXPECT_EQ(attention_kernel(8.0, half), AttentionKernel::flash);
    EXPECT_EQ(attention_kernel(8.9, half), AttentionKernel::flash);
    EXPECT_EQ(attention_kernel(9.0, half), AttentionKernel::cudnn);
    EXPECT_EQ(attention_kernel(8.0, masked), AttentionKernel::efficient);
    EXPECT_EQ(attention_kernel(9.0, single), AttentionKernel::efficient);
    EXPECT_EQ(attention_kernel(8.0, odd), AttentionKernel::flash) << "padded to a multiple of eight";
    EXPECT_EQ(attention_kernel(8.0, grouped), AttentionKernel::math);
}

std::vector<std::string> ops_on(const char* device, const std::string& name) {
    const Result<Graph> graph =
        capture_for(test::model_path(name), test::quick(name), device_profile(device).take());
    if (!graph) ADD_FAILURE() << graph.error().message;
    std::vector<std::string> ops;
    if (graph)
        for (const Op& op : graph->ops) ops.push_back(op.name);
    return ops;
}

TEST(StandIn, ModelsChooseTheOpsOfTheDevice) {
    using ::testing::Contains;
    EXPECT_THAT(ops_on("h200", "modules/attention_causal"),
                Contains("aten::_scaled_dot_product_efficient_attention_backward"));
    EXPECT_THAT(ops_on("a100", "modules/attention_dropout"),
                Contains("aten::_scaled_dot_product_efficient_attention"));
    EXPECT_THAT(ops_on("h200", "modules/dropout"), Contains("aten::native_dropout"));
    EXPECT_THAT(ops_on("h200", "modules/batch_norm2d"), Contains("aten::cudnn_batch_norm_backward"));
    EXPECT_THAT(ops_on("a100", "modules/scripted_index"), Contains("aten::index"));
    EXPECT_THAT(ops_on("cpu", "modules/dropout"), ::testing::Not(Contains("aten::native_dropout")));
}

/// The traced model makes its position ids and its mask on the host. A graph for a GPU treats them as tensors
/// of the GPU, and its provenance says so. A graph for the CPU needs no such change.
TEST(StandIn, TensorsThatATraceMakesOnTheHostAreTakenAsTheDevices) {
    const std::string name = "positions_traced";
    const Result<Graph> graph =
        capture_for(test::model_path(name), test::quick(name), device_profile("h200").take());
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_TRUE(graph->provenance->contains("host_tensors"));
    EXPECT_THAT(ops_on("h200", name), ::testing::Contains("aten::embedding_dense_backward").Times(2));
    const Result<Graph> on_host =
        capture_for(test::model_path(name), test::quick(name), device_profile("cpu").take());
    ASSERT_TRUE(on_host) << on_host.error().message;
    EXPECT_FALSE(on_host->provenance->contains("host_tensors"));
}

TEST(StandIn, RecurrentLayersOfCudnnAreRefused) {
    for (const char* name : {"modules/lstm", "modules/gru"}) {
        const Result<Graph> graph =
            capture_for(test::model_path(name), test::quick(name), device_profile("a100").take());
        ASSERT_FALSE(graph);
        EXPECT_THAT(graph.error().message, ::testing::HasSubstr("recurrent layers of cuDNN"));
        EXPECT_EQ(graph.error().message.find('\n'), std::string::npos) << graph.error().message;
    }
}

TEST(StandIn, TensorsTakeWhatTheAllocatorOfTheDeviceGives) {
    const DeviceProfile h200 = device_profile("h200").take();
    const Result<Graph> graph =
        capture_for(test::model_path("mlp_scripted"), test::quick("mlp_scripted"), h200);
    ASSERT_TRUE(graph) << graph.error().message;
    bool workspace = false;
    for (const Tensor& tensor : graph->tensors) {
        EXPECT_EQ(tensor.bytes.value % 512, 0) << tensor.name;
        workspace =
            workspace || (tensor.name == "library workspace" && tensor.bytes == h200.matmul_workspace);
    }
    EXPECT_TRUE(workspace);
    ASSERT_TRUE(graph->device);
    EXPECT_EQ(graph->device->kind, "cuda");
    EXPECT_EQ(graph->device->alignment, 512);
    EXPECT_EQ(planned_alignment(*graph), 512);
    EXPECT_TRUE(graph->device->allocator);
}

TEST(ShapeTensor, KnowsItsBytesAndHoldsNone) {
    const at::Tensor tensor = shape_tensor({1 << 20, 1 << 20}, c10::ScalarType::Float, c10::DeviceType::CPU);
    EXPECT_EQ(tensor.storage().nbytes(), std::size_t{4} << 40);
    EXPECT_FALSE(has_data(tensor));
    EXPECT_THROW(tensor.const_data_ptr(), c10::Error);
}

}  // namespace
}  // namespace rematlas
