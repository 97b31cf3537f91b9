#include "runtime/capture/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/graph/graph_file.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using test::captured;
using test::cpu;
using test::model_path;
using test::quick;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

template <class Predicate>
std::vector<const Op*> ops_where(const Graph& graph, Predicate&& predicate) {
    std::vector<const Op*> found;
    for (const Op& op : graph.ops)
        if (predicate(op)) found.push_back(&op);
    return found;
}

std::vector<const Op*> ops_named(const Graph& graph, const std::string& name) {
    return ops_where(graph, [&](const Op& op) { return op.name == name; });
}

TEST(Capture, GivesAValidGraphThatSurvivesTheFile) {
    for (const char* name : {"resnet_traced", "gpt_scripted", "inplace_scripted"}) {
        const Graph& graph = captured(name);
        ASSERT_TRUE(validate(graph)) << name;
        const Result<Graph> again = parse_graph(graph_text(graph), name);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(graph_text(*again), graph_text(graph));
    }
}

TEST(Capture, KnowsParametersBuffersAndInputsByName) {
    const Graph& graph = captured("resnet_scripted");
    const auto kind_of = [&](const std::string& name) -> std::optional<TensorKind> {
        for (const Tensor& tensor : graph.tensors)
            if (tensor.name == name) return tensor.kind;
        return std::nullopt;
    };
    EXPECT_EQ(kind_of("layer1.conv1.weight"), TensorKind::parameter);
    EXPECT_EQ(kind_of("layer1.bn1.running_mean"), TensorKind::buffer);
    EXPECT_EQ(kind_of("input0"), TensorKind::input);
}

TEST(Capture, OrdersThePhases) {
    const Graph& graph = captured("gpt_traced");
    EXPECT_TRUE(std::is_sorted(graph.ops.begin(), graph.ops.end(),
                               [](const Op& a, const Op& b) { return a.phase < b.phase; }));
    EXPECT_EQ(ops_named(graph, "rematlas::output_gradients").size(), 1u);
    EXPECT_EQ(ops_named(graph, "rematlas::output_gradients")[0]->phase, Phase::loss);
}

TEST(Capture, FindsModulesAndTheForwardOpOfBackwardOps) {
    for (const char* name : {"resnet_scripted", "resnet_traced"}) {
        const Graph& graph = captured(name);
        const auto backward = ops_named(graph, "aten::convolution_backward");
        ASSERT_EQ(backward.size(), 9u);
        for (const Op* op : backward) {
            ASSERT_TRUE(op->of) << name;
            EXPECT_THAT(graph.ops[*op->of].name, HasSubstr("convolution"))
                << "traced models call aten::_convolution";
            EXPECT_EQ(graph.ops[*op->of].phase, Phase::forward);
            EXPECT_EQ(graph.ops[*op->of].module, op->module);
            EXPECT_THAT(op->module, AllOf(Not(HasSubstr("SELF")), Not(HasSubstr("("))));
        }
        std::set<std::string> modules;
        for (const Op* op : backward) modules.insert(op->module);
        EXPECT_TRUE(modules.contains("layer2.shortcut.0")) << name;
    }
}

TEST(Capture, TellsWhatTensorsAreAndWhereTheyComeFrom) {
    for (const char* name : {"resnet_scripted", "resnet_traced"}) {
        const Graph& graph = captured(name);
        for (const Op* op : ops_named(graph, "aten::convolution_backward")) {
            const Op& forward = graph.ops[*op->of];
            // A traced model keeps only the line of torch that calls the op.
            const bool is_traced = std::string_view(name) == "resnet_traced";
            EXPECT_THAT(forward.source,
                        MatchesRegex(is_traced ? "torch/nn/modules/conv.py:[0-9]+" : "export.py:[0-9]+"));
            EXPECT_EQ(op->source, forward.source) << name;
        }
        for (const Tensor& tensor : graph.tensors) {
            if (tensor.kind != TensorKind::parameter && tensor.kind != TensorKind::activation) continue;
            if (tensor.bytes.value == 0 || !tensor.layout) continue;
            std::int64_t elements = 1;
            for (std::int64_t size : tensor.layout->shape) elements *= size;
            EXPECT_LE(elements * (tensor.layout->dtype == "i64" ? 8 : 1), tensor.bytes.value) << tensor.name;
        }
        const auto input = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                        [](const Tensor& tensor) { return tensor.name == "input0"; });
        ASSERT_NE(input, graph.tensors.end());
        EXPECT_EQ(to_string(input->layout.value()), "f32[4,3,32,32]");
        EXPECT_EQ(graph.module_classes.at("layer2.shortcut.0"), "Conv2d") << name;
    }
}

TEST(Capture, NamesMembersOfModuleListsWithTheirList) {
    for (const char* name : {"gpt_scripted", "gpt_traced"}) {
        std::set<std::string> modules;
        for (const Op& op : captured(name).ops) modules.insert(op.module);
        EXPECT_TRUE(modules.contains("blocks.2.attn.qkv")) << name;
        EXPECT_FALSE(modules.contains("2.attn.qkv")) << name;
    }
    const Graph& translator = captured("translator_scripted");
    EXPECT_FALSE(ops_where(translator, [](const Op& op) {
                     return op.module == "transformer.decoder.layers.1.linear2";
                 }).empty());
}

TEST(Capture, MarksRandomOpsAndRunningStatistics) {
    const auto random = ops_where(captured("gpt_scripted"), [](const Op& op) { return op.random; });
    EXPECT_EQ(random.size(), 1 + 3 * 3u) << "one dropout on the embedding, three in each block";

    const Graph& resnet = captured("resnet_traced");
    for (const Op* op : ops_named(resnet, "aten::native_batch_norm")) {
        EXPECT_EQ(op->mutates.size(), 2u);
        EXPECT_TRUE(op->recomputable);
    }
    const auto counters =
        ops_where(resnet, [](const Op& op) { return op.name == "aten::add_" && !op.mutates.empty(); });
    EXPECT_EQ(counters.size(), ops_named(resnet, "aten::native_batch_norm").size());
    for (const Op* op : counters) EXPECT_FALSE(op->recomputable);
}

TEST(Capture, PairsWhatInPlaceOpsOverwrite) {
    const Graph& graph = captured("resnet_scripted");
    const auto relu = ops_named(graph, "aten::relu_");
    ASSERT_FALSE(relu.empty());
    for (const Op* op : relu) {
        ASSERT_EQ(op->inplace.size(), 1u);
        EXPECT_EQ(graph.tensors[op->inplace[0].in].bytes, graph.tensors[op->inplace[0].out].bytes);
    }
}

TEST(Capture, ADropoutMaskDependsOnNoTensor) {
    const Graph& graph = captured("gpt_scripted");
    for (const Op* op : ops_named(graph, "aten::empty_like")) EXPECT_TRUE(op->inputs.empty());
}

TEST(Capture, SaysWhereItComesFrom) {
    const nlohmann::json& provenance = *captured("gpt_scripted").provenance;
    EXPECT_EQ(provenance["model"], "gpt_scripted.pt");
    EXPECT_EQ(provenance["model_sha256"].get<std::string>().size(), 64u);
    EXPECT_EQ(provenance["inputs"], nlohmann::json({"i64[2,16]<64"}));
    EXPECT_EQ(provenance["device"], "cpu");
}

TEST(Capture, TakesALossIntoTheGraph) {
    for (const Loss loss : {Loss::sum, Loss::mean, Loss::cross_entropy}) {
        CaptureOptions options = quick("gpt_scripted");
        options.loss = loss;
        const Result<Graph> graph = capture(model_path("gpt_scripted"), options, cpu());
        ASSERT_TRUE(graph) << graph.error().message;
        EXPECT_FALSE(ops_where(*graph, [](const Op& op) { return op.phase == Phase::loss; }).empty())
            << to_string(loss);
        EXPECT_TRUE(ops_named(*graph, "rematlas::output_gradients").empty());
        EXPECT_EQ((*graph->provenance)["inputs"].size(), loss == Loss::cross_entropy ? 2u : 1u)
            << "the target is an input";
    }
}

TEST(Capture, ReportsItsStagesInOrder) {
    CaptureOptions options = quick("mlp_traced");
    std::vector<std::string> stages;
    options.progress = [&](std::string_view stage, double fraction) {
        EXPECT_GE(fraction, 0.0);
        EXPECT_LE(fraction, 1.0);
        if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
    };
    ASSERT_TRUE(capture(model_path("mlp_traced"), options, cpu()));
    EXPECT_EQ(stages, (std::vector<std::string>{"load", "record", "check", "profile"}));
}

TEST(Capture, RefusesWhatDependsOnDataAndNamesThePlace) {
    const Result<Graph> graph = capture(model_path("undecided_scripted"), quick("undecided_scripted"), cpu());
    ASSERT_FALSE(graph);
    EXPECT_THAT(graph.error().message,
                AllOf(HasSubstr("undecided_scripted.pt"), HasSubstr("aten::_local_scalar_dense"),
                      HasSubstr("export.py:"), HasSubstr("may depend on the data")));
}

TEST(Capture, ErrorsAreOneLine) {
    const auto message_of = [](const char* name, const char* input) {
        CaptureOptions options = quick(name);
        options.inputs = {parse_input_spec(input).take()};
        const Result<Graph> graph = capture(model_path(name), options, cpu());
        EXPECT_FALSE(graph) << input;
        const std::string message = graph ? "" : graph.error().message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        return message;
    };
    EXPECT_THAT(message_of("mlp_scripted", "f32[32,63]"),
                AllOf(HasSubstr("mlp_scripted.pt"), HasSubstr("shapes cannot be multiplied")));
    EXPECT_THAT(message_of("mlp_traced", "i64[32,64]"), HasSubstr("mlp_traced.pt"));
    EXPECT_THAT(message_of("translator_scripted", "i64[2,10]<50"), HasSubstr("target"));
    EXPECT_THAT(message_of("gpt_scripted", "i64[2,16]<9999"), HasSubstr("range"));

    const Result<Graph> missing = capture("no_such_model.pt", {}, cpu());
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("no_such_model.pt"));
    const Result<Graph> other = capture(model_path("mlp_scripted").replace_extension(".json"), {}, cpu());
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("not a TorchScript file"));
    const std::filesystem::path source = std::filesystem::path(::testing::TempDir()) / "nets.py";
    std::ofstream(source) << "def net(): ...\n";
    const Result<Graph> of_source = capture(source, {}, cpu());
    ASSERT_FALSE(of_source);
    EXPECT_THAT(of_source.error().message, HasSubstr("name a function of it instead, as in nets:function"));
}

}  // namespace
}  // namespace rematlas
