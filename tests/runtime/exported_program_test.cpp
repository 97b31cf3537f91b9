// Tests programs of torch.export (resources/models/exported.py). Each program must compute the same bits as
// the model in eager PyTorch, and must be captured and replayed like a TorchScript file.
#include <ATen/Parallel.h>
#include <ATen/ops/ones_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/base/files.h"
#include "runtime/capture/capture_shapes.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/verify/evicted_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

std::filesystem::path exported_path(const std::string& name) {
    return std::filesystem::path(REMATLAS_RUNTIME_MODELS) / "exported" / name;
}

/// The step that eager PyTorch ran, read from a file.
class EagerStep {
  public:
    explicit EagerStep(const std::string& name) {
        const std::string bytes = read_file(exported_path(name + ".step")).take();
        step_ = torch::jit::pickle_load({bytes.begin(), bytes.end()}).toGenericDict();
    }
    std::vector<at::Tensor> list(const std::string& part) const {
        std::vector<at::Tensor> tensors;
        for (const c10::IValue& value : step_.at(part).toListRef()) tensors.push_back(value.toTensor());
        return tensors;
    }
    std::map<std::string, at::Tensor> named(const std::string& part) const {
        std::map<std::string, at::Tensor> tensors;
        for (const auto& entry : step_.at(part).toGenericDict())
            tensors[entry.key().toStringRef()] = entry.value().toTensor();
        return tensors;
    }

  private:
    c10::Dict<c10::IValue, c10::IValue> step_{c10::AnyType::get(), c10::AnyType::get()};
};

std::vector<std::string> programs() {
    return nlohmann::json::parse(read_file(exported_path("exported.json")).take());
}

/// Returns all programs except those that write to their inputs.
std::vector<std::string> captured_programs() {
    std::vector<std::string> names = programs();
    std::erase_if(names, [](const std::string& name) { return name.starts_with("writes_input"); });
    return names;
}

std::map<std::string, at::Tensor> named(const Model& model, bool parameters) {
    std::map<std::string, at::Tensor> tensors;
    for (const NamedTensor& tensor : model.tensors)
        if (tensor.is_parameter == parameters) tensors[tensor.name] = tensor.tensor;
    return tensors;
}

void expect_same(const at::Tensor& ours, const at::Tensor& eager, const std::string& what) {
    EXPECT_TRUE(identical({ours.detach().resolve_conj().resolve_neg().contiguous()}, {eager.contiguous()}))
        << what;
}

TEST(ExportedPrograms, ComputeWhatEagerPyTorchDoes) {
    at::set_num_threads(1);  // as in resources/models/exported.py: with several threads, kernels split sums
                             // differently
    const std::vector<std::string> names = programs();
    ASSERT_GE(names.size(), 100u);
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        const EagerStep eager(name);
        Result<Model> loaded = load_model(exported_path(name + ".pt2"));
        ASSERT_TRUE(loaded) << loaded.error().message;
        Model model = loaded.take();
        test::cpu().seed_generator(1);
        const std::vector<at::Tensor> outputs = model.forward(eager.list("inputs")),
                                      expected = eager.list("outputs");
        ASSERT_EQ(outputs.size(), expected.size());
        std::vector<at::Tensor> roots, ones, parameters;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            expect_same(outputs[i], expected[i], "output " + std::to_string(i));
            if (outputs[i].requires_grad()) roots.push_back(outputs[i]);
        }
        for (const at::Tensor& root : roots) ones.push_back(at::ones_like(root));
        torch::autograd::backward(roots, ones);
        for (const auto& [parameter, gradient] : eager.named("gradients")) {
            const at::Tensor& ours = named(model, true).at(parameter).grad();
            ASSERT_TRUE(ours.defined()) << parameter;
            expect_same(ours, gradient, parameter);
        }
        const std::map<std::string, at::Tensor> buffers = named(model, false);
        for (const auto& [buffer, value] : eager.named("buffers"))
            if (buffers.contains(buffer)) expect_same(buffers.at(buffer), value, buffer);
    }
}

TEST(ExportedPrograms, AreCapturedAndReplayedWithReruns) {
    for (const std::string& name : captured_programs()) {
        SCOPED_TRACE(name);
        const std::string file = "exported/" + name + ".pt2";
        const Graph& graph = test::captured(file);
        if (graph.ops.empty()) continue;  // the capture has failed, and `captured` has reported it
        test::expect_identical(file, test::plan_of(graph, test::shuffled_with_reruns(flatten(graph), 0.4,
                                                                                     /*shuffle=*/false, 5)));
    }
}

TEST(ExportedPrograms, NameTheModuleOfAnOp) {
    const Graph& graph = test::captured("exported/resnet_model.pt2");
    std::set<std::string> of_the_layer;
    for (const Op& op : graph.ops)
        if (op.module == "layer1.conv1") of_the_layer.insert(op.name);
    EXPECT_THAT(of_the_layer, IsSupersetOf({"aten::convolution", "aten::convolution_backward"}));
    EXPECT_EQ(graph.module_classes.at("layer1.conv1"), "Conv2d");
}

std::string refusal_of(const std::string& file, std::vector<std::string> inputs) {
    CaptureOptions options;
    for (const std::string& input : inputs) options.inputs.push_back(parse_input_spec(input).take());
    const Result<Graph> graph = capture(exported_path(file), options, test::cpu());
    EXPECT_FALSE(graph) << file;
    return graph ? std::string() : graph.error().message;
}

TEST(ExportedPrograms, WithoutACourseOfTheirOwnAreRefused) {
    EXPECT_THAT(refusal_of("course.pt2", {"f32[3,6]"}),
                AllOf(HasSubstr("torch.ops.higher_order.cond: "), HasSubstr("may depend on values")));
    EXPECT_THAT(
        refusal_of("statistics.pt2", {"f32[2,4,8,8]"}),
        AllOf(HasSubstr("statistics.pt2: the model fails: "), HasSubstr("modified by an inplace operation")));
}

TEST(ExportedPrograms, ThatWriteToAnInputAreRefusedByItsNumber) {
    for (const char* file : {"writes_input.pt2", "writes_input_functional.pt2"})
        EXPECT_THAT(refusal_of(file, {"f32[3,6]", "f32[3,6]"}),
                    HasSubstr("cannot be captured: the step writes to its input 2: have the model clone"));
}

TEST(ExportedPrograms, ThatWriteToAnInputMayBeEvicted) {
    for (const char* file : {"writes_input.pt2", "writes_input_functional.pt2"}) {
        const Result<EvictedReport> report = train_evicting(
            exported_path(file), {.budget = parse_budget("1MiB").take(), .verify = true}, test::cpu());
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->verified) << report->mismatch;
    }
}

TEST(ExportedPrograms, AreGivenWhatTheyWereExportedFor) {
    EXPECT_THAT(refusal_of("gru.pt2", {"f32[5,4,6]"}),
                HasSubstr("input 1 is f32[5,4,6], and the program was exported for f32[5,3,6]"));
    EXPECT_THAT(refusal_of("gru.pt2", {"f64[5,3,6]"}), HasSubstr("was exported for f32[5,3,6]"));
    EXPECT_THAT(refusal_of("gru.pt2", {"f32[5,3,6]", "f32[5]"}), HasSubstr("takes 1 input, and 2 are given"));
    EXPECT_THAT(refusal_of("sizes.pt2", {"f32[65,5,6]", "f32[65]"}), HasSubstr("is at most 64"));
    EXPECT_THAT(refusal_of("sizes.pt2", {"f32[3,5,6]", "f32[4]"}), HasSubstr("is 3 in an input before"));
    EXPECT_THAT(
        refusal_of("derived.pt2", {"f32[5,6]", "f32[9,6]", "f32[6,6]"}),
        HasSubstr(
            "input 2 is f32[9,6], and the program was exported for f32[?,6], where the size of dimension 0 "
            "follows from others and is 10"));
    EXPECT_THAT(refusal_of("derived.pt2", {"f32[5,6]", "f32[10,6]", "f32[5,6]"}), HasSubstr("and is 6"));
    EXPECT_THAT(refusal_of("scalars.pt2", {"f32[3,6]", "float:0.75", "int:2", "bool:true", "str:leaky"}),
                HasSubstr("input 2 is 0.75, and the program was exported for 0.5 there"));
}

TEST(ExportedPrograms, TakeOtherSizesWhereTheyWereExportedForThem) {
    CaptureOptions derived;
    for (const char* input : {"f32[5,6]", "f32[10,6]", "f32[6,6]"})
        derived.inputs.push_back(parse_input_spec(input).take());
    const Result<Graph> of_derived = capture(exported_path("derived.pt2"), derived, test::cpu());
    EXPECT_TRUE(of_derived) << of_derived.error().message;
    for (const auto& [x, y] : {std::pair("f32[7,2,6]", "f32[7]"), std::pair("f32[2,31,6]", "f32[2]")}) {
        CaptureOptions options{.inputs = {parse_input_spec(x).take(), parse_input_spec(y).take()}};
        const Result<Graph> graph = capture(exported_path("sizes.pt2"), options, test::cpu());
        EXPECT_TRUE(graph) << graph.error().message;
    }
}

TEST(ExportedPrograms, HaveInputsOfTheirOwn) {
    for (const std::string& name : captured_programs()) {
        SCOPED_TRACE(name);
        const Result<Graph> graph = capture(exported_path(name + ".pt2"), {}, test::cpu());
        EXPECT_TRUE(graph) << graph.error().message;
    }
    EXPECT_EQ(nlohmann::json(test::captured("exported/sizes.pt2").provenance->at("inputs")),
              nlohmann::json::parse(R"(["f32[3,5,6]", "f32[3]"])"));
}

TEST(ExportedPrograms, MayBeGivenNoConstants) {
    CaptureOptions options{.inputs = {parse_input_spec("f32[3,6]").take()}};
    const Result<Graph> graph = capture(exported_path("scalars.pt2"), options, test::cpu());
    EXPECT_TRUE(graph) << graph.error().message;
}

TEST(ExportedPrograms, ShareTensorsAsTheModelDid) {
    const Model model = load_model(exported_path("tensors.pt2")).take();
    const std::map<std::string, at::Tensor> parameters = named(model, true), buffers = named(model, false);
    EXPECT_TRUE(parameters.at("embedding.weight").is_same(parameters.at("head.weight")));
    EXPECT_FALSE(parameters.at("frozen").requires_grad());
    EXPECT_EQ(buffers.at("table").strides(), c10::IntArrayRef({1, 4}));
    EXPECT_THAT(buffers, ::testing::Contains(::testing::Key("mask"))) << "which does not persist";
}

TEST(ExportedPrograms, AreCapturedFromShapes) {
    for (const std::string name : {"resnet_model", "gpt_model", "regions", "tensors"}) {
        SCOPED_TRACE(name);
        const std::string file = "exported/" + name + ".pt2";
        const Result<Graph> shapes = capture_op_by_op(test::model_path(file), test::quick(file), test::cpu());
        ASSERT_TRUE(shapes) << shapes.error().message;
        const Graph& values = test::captured(file);
        ASSERT_EQ(shapes->ops.size(), values.ops.size());
        EXPECT_TRUE(std::equal(values.ops.begin(), values.ops.end(), shapes->ops.begin(),
                               [](const Op& a, const Op& b) { return a.name == b.name; }));
    }
}

/// Damages the bytes: changes some, removes some, or cuts off the end.
std::string damaged(std::string bytes, std::mt19937& random) {
    const auto below = [&](std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    switch (below(3)) {
        case 0:
            for (std::size_t i = below(8) + 1; i > 0; --i)
                bytes[below(bytes.size())] = static_cast<char>(below(256));
            break;
        case 1:
            bytes.erase(below(bytes.size()), below(64) + 1);
            break;
        default:
            bytes.resize(below(bytes.size()));
    }
    return bytes;
}

/// Changes, removes or moves an entry of the program's JSON.
std::string with_damaged_program(const std::string& bytes, std::mt19937& random) {
    const std::size_t begin = bytes.find("{\"graph_module\""), end = bytes.find("\"guards_code\"", begin);
    std::string result = bytes;
    for (int tries = 0; tries < 200; ++tries) {
        const std::size_t at = std::uniform_int_distribution<std::size_t>(begin, end)(random);
        char& character = result[at];
        if (std::isdigit(static_cast<unsigned char>(character))) {
            character = static_cast<char>('0' + random() % 10);
            if (random() % 3 == 0) return result;
        } else if (std::isalpha(static_cast<unsigned char>(character)) && random() % 20 == 0) {
            character = static_cast<char>('a' + random() % 26);
            return result;
        }
    }
    return result;
}

TEST(ExportedPrograms, ThatAreDamagedAreReadOrRefusedInALine) {
    const std::filesystem::path path = ::testing::TempDir() + "/damaged.pt2";
    std::mt19937 random(7);
    int refused = 0, count = 0;
    for (const std::string name : {"tensors", "sizes", "scalars", "regions"}) {
        const std::string whole = read_file(exported_path(name + ".pt2")).take();
        const std::vector<at::Tensor> inputs = EagerStep(name).list("inputs");
        for (int i = 0; i < 100; ++i, ++count) {
            SCOPED_TRACE(name + " " + std::to_string(i));
            ASSERT_TRUE(
                write_file(path, i % 2 ? damaged(whole, random) : with_damaged_program(whole, random)));
            Result<Model> model = load_model(path);
            if (model) {
                try {
                    model->forward(inputs);
                    continue;
                } catch (const std::exception& error) {
                    EXPECT_THAT(one_line(error), Not(HasSubstr("INTERNAL ASSERT")));
                }
            } else {
                EXPECT_THAT(model.error().message, StartsWith(path.string() + ": "));
                EXPECT_THAT(model.error().message, Not(HasSubstr("\n")));
                EXPECT_NO_THROW(nlohmann::json(model.error().message).dump()) << "all of it is UTF-8";
            }
            ++refused;
        }
    }
    EXPECT_GE(refused, count / 2);
}

}  // namespace
}  // namespace rematlas
