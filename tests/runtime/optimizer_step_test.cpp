// Compares steps that end with an optimizer's updates with the original. The steps are captured, planned and
// replayed. The original updates all parameters in one call of the same fused op.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/planning/request.h"
#include "core/schedule/update_order.h"
#include "runtime/capture/capture_shapes.h"
#include "runtime/model/fused_optimizer.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using test::model_path;
using test::plan_of;
using ::testing::HasSubstr;

struct Case {
    const char* model;
    const char* optimizer;
    const char* options = "";
    Loss loss = Loss::output;
};
void PrintTo(const Case& of, std::ostream* out) {
    *out << of.model << "_" << of.optimizer << "_" << of.options;
}

const Graph& step_with(const Case& of) {
    static std::map<std::string, Graph> graphs;
    const std::string key = ::testing::PrintToString(of) + std::string(to_string(of.loss));
    const auto found = graphs.find(key);
    if (found != graphs.end()) return found->second;
    CaptureOptions options = test::quick(of.model);
    options.optimizer = *Optimizer::from(of.optimizer, of.options);
    options.loss = of.loss;
    Result<Graph> graph = capture(model_path(of.model), options, test::step_device());
    if (!graph) ADD_FAILURE() << graph.error().message;
    return graphs.emplace(key, graph ? graph.take() : Graph()).first->second;
}

std::vector<OpId> updates(const Graph& graph) {
    std::vector<OpId> found;
    for (OpId op : graph.ops.ids())
        if (graph.ops[op].phase == Phase::optimizer) found.push_back(op);
    return found;
}

class OptimizerStep : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizerStep, EachParameterHasAnUpdateThatTakesItsGradient) {
    const Graph& graph = step_with(GetParam());
    const Tape tape = tape_of(graph).take();
    const Optimizer optimizer = *Optimizer::from(GetParam().optimizer, GetParam().options);
    std::set<TensorId> updated;
    for (OpId id : updates(graph)) {
        const Op& op = graph.ops[id];
        EXPECT_EQ(op.name, "aten::_fused_" + std::string(GetParam().optimizer) + "_");
        EXPECT_FALSE(op.recomputable);
        EXPECT_EQ(op.mutates.size(), 1 + optimizer.states().size());
        for (TensorId written : op.mutates) {
            EXPECT_TRUE(updated.insert(written).second) << graph.tensors[written].name;
            const TensorKind kind = graph.tensors[written].kind;
            EXPECT_TRUE(kind == TensorKind::parameter || kind == TensorKind::optimizer_state);
        }
        ASSERT_TRUE(op.host_time);
        EXPECT_GT(op.host_time->value, 0);
        if (test::step_device().device().is_cpu()) {
            EXPECT_EQ(op.host_time, op.time) << "the host is the device";
        }
    }
    EXPECT_EQ(updates(graph).size(), load_model(model_path(GetParam().model))->trained().size());
    for (const GradientOf& gradient : tape.gradients) EXPECT_EQ(gradient.operand, no_operand);
    const std::set<TensorId> results(graph.results.begin(), graph.results.end());
    for (OpId id : updates(graph))
        for (TensorId read : graph.ops[id].inputs) EXPECT_FALSE(results.contains(read));
    EXPECT_EQ((*graph.provenance)["optimizer"], GetParam().optimizer);
    EXPECT_EQ((*graph.provenance)["optimizer_options"], to_json(optimizer));
}

TEST_P(OptimizerStep, IsIdenticalWithoutRecomputation) {
    const Graph& graph = step_with(GetParam());
    test::expect_identical(GetParam().model, plan_of(graph, keep_all_sequence(flatten(graph))));
}

TEST_P(OptimizerStep, IsIdenticalWithRerunsAndInAnotherOrder) {
    const Graph& graph = step_with(GetParam());
    for (const bool shuffle : {false, true}) {
        const RunSequence runs =
            behind_readers(graph, test::shuffled_with_reruns(flatten(graph), 0.4, shuffle, 5));
        test::expect_identical(GetParam().model, plan_of(graph, runs));
    }
}

/// The search ends after a number of moves, so it finds the same schedule on each machine.
TEST_P(OptimizerStep, IsIdenticalAsSolvedWithinABudget) {
    const Graph& graph = step_with(GetParam());
    const FlatGraph flat = flatten(graph);
    const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
    const nlohmann::json options = {{"max_moves", 1000}};
    for (const std::int64_t eighths : {3, 6, 8}) {
        SCOPED_TRACE(eighths);
        Result<Outcome> outcome = solve(graph, {.options = std::make_shared<const nlohmann::json>(options),
                                                .budget = Bytes(least + (most - least) * eighths / 8),
                                                .limits = {.time = std::chrono::minutes(5)}});
        ASSERT_TRUE(outcome) << outcome.error().message;
        if (eighths == 3 && !outcome->schedule()) continue;  // some steps need more memory
        ASSERT_TRUE(outcome->schedule()) << outcome->infeasible()->needed.value << " bytes are needed";
        if (eighths < 8) {
            EXPECT_LT(outcome->schedule()->peak.value, most);
        }
        test::expect_identical(GetParam().model, {.graph = graph, .schedule = *outcome->schedule()});
    }
}

INSTANTIATE_TEST_SUITE_P(
    SmallModels, OptimizerStep,
    ::testing::Values(Case{"mlp_scripted", "sgd"}, Case{"mlp_traced", "adam", "amsgrad=1,weight_decay=0.1"},
                      Case{"resnet_scripted", "sgd", "lr=0.1,momentum=0.9,nesterov=1,weight_decay=0.0001"},
                      Case{"resnet_traced", "adamw", "", Loss::mean},
                      Case{"gpt_scripted", "adamw", "lr=0.01"},
                      Case{"gpt_traced", "sgd", "momentum=0.9,maximize=1", Loss::mean},
                      Case{"unet_scripted", "adam"}, Case{"translator_scripted", "adamw"},
                      Case{"lstm_scripted", "adam", "beta1=0.5,beta2=0.9,eps=0.01"},
                      Case{"inplace_scripted", "adamw"}),
    [](const auto& info) { return std::string(info.param.model) + "_" + info.param.optimizer; });

TEST(OptimizerSteps, HoldNoGradientsToTheEnd) {
    for (const char* model : {"gpt_scripted", "resnet_scripted"}) {
        const auto peak = [](const Graph& graph) { return keep_all_peak(flatten(graph)); };
        EXPECT_LT(peak(step_with({model, "sgd"})), peak(test::captured(model)));
    }
}

TEST(OptimizerSteps, UpdatesGiveTheSameBitsOneByOneAsAllAtOnce) {
    for (const auto& [kind, options] : std::vector<std::pair<const char*, const char*>>{
             {"sgd", "momentum=0.9"}, {"adam", "amsgrad=1"}, {"adamw", ""}}) {
        const std::vector<at::Tensor> first =
            draw_inputs({*parse_input_spec("f32[7,5]"), *parse_input_spec("f32[1]"),
                         *parse_input_spec("f32[300]"), *parse_input_spec("f32[2,3,4,4]")},
                        1);
        const std::vector<at::Tensor> together = copies_of(first), alone = copies_of(first);
        const Optimizer optimizer = *Optimizer::from(kind, options);
        FusedOptimizer all(optimizer, together);
        std::vector<FusedOptimizer> each;
        for (const at::Tensor& parameter : alone) each.emplace_back(optimizer, std::vector{parameter});
        for (int step = 0; step < 4; ++step) {
            std::vector<at::Tensor> gradients = copies_of(first);
            for (at::Tensor& gradient : gradients) gradient.mul_(0.5 - step);
            all.step(gradients);
            for (std::size_t i = 0; i < each.size(); ++i) each[i].step({gradients[i]});
        }
        EXPECT_TRUE(identical(together, alone)) << kind;
        EXPECT_FALSE(identical(together, first)) << kind;
        for (std::size_t i = 0; i < each.size(); ++i)
            EXPECT_TRUE(identical(all.states(i), each[i].states(0))) << kind;
    }
}

TEST(OptimizerFromShapes, IsTheStepOfTheDevice) {
    const Case of{"resnet_scripted", "adamw"};
    CaptureOptions options = test::quick(of.model);
    options.optimizer = *Optimizer::from(of.optimizer);
    const Result<Graph> foretold = capture_for(model_path(of.model), options, *device_profile("h200"));
    ASSERT_TRUE(foretold) << foretold.error().message;
    const Graph& made = step_with(of);
    ASSERT_FALSE(updates(made).empty());
    ASSERT_EQ(updates(*foretold).size(), updates(made).size());
    Nanoseconds there, on_host;
    for (OpId id : updates(*foretold)) {
        EXPECT_GT(foretold->ops[id].host_time->value, 0);
        there = std::max(there, foretold->ops[id].time),
        on_host = std::max(on_host, *foretold->ops[id].host_time);
    }
    EXPECT_GT(on_host, there) << "an h200 has more bandwidth than a host";
    const Result<Graph> on_cpu = capture_for(model_path(of.model), options, *device_profile("cpu"));
    ASSERT_TRUE(on_cpu) << on_cpu.error().message;
    ASSERT_EQ(on_cpu->tensors.size(), made.tensors.size());
    for (TensorId tensor : made.tensors.ids()) {
        EXPECT_EQ(on_cpu->tensors[tensor].name, made.tensors[tensor].name);
        EXPECT_EQ(on_cpu->tensors[tensor].bytes, made.tensors[tensor].bytes);
        EXPECT_EQ(on_cpu->tensors[tensor].kind, made.tensors[tensor].kind);
    }
}

TEST(OptimizerSteps, ProfiledOpByOpAreIdenticalToo) {
    const Case of{"mlp_scripted", "adamw"};
    CaptureOptions options = test::quick(of.model);
    options.optimizer = *Optimizer::from(of.optimizer);
    const Result<Graph> graph = capture_op_by_op(model_path(of.model), options, test::cpu());
    ASSERT_TRUE(graph) << graph.error().message;
    test::expect_identical(of.model, plan_of(*graph, keep_all_sequence(flatten(*graph))));
}

TEST(OptimizerSteps, OptionsThatAreWrongAreNamed) {
    for (const auto& [kind, options, cause] : std::vector<std::array<const char*, 3>>{
             {"adagrad", "", "adagrad"},
             {"sgd", "beta1=0.9", "beta1"},
             {"sgd", "nesterov=1", "momentum"},
             {"adam", "beta1=1", "beta1"},
             {"adam", "momentum=0.9", "momentum"},
             {"adamw", "lr=fast", "lr=fast"},
             {"adamw", "lr", "lr"},
             {"adamw", "eps=-1", "eps"},
             {"adamw", "amsgrad=2", "amsgrad"},
         }) {
        const Result<Optimizer> optimizer = Optimizer::from(kind, options);
        ASSERT_FALSE(optimizer) << kind << " " << options;
        EXPECT_THAT(optimizer.error().message, HasSubstr(cause));
    }
    const Optimizer optimizer = *Optimizer::from("sgd", "lr=0.1,momentum=0.9,nesterov=1");
    EXPECT_EQ(*optimizer_from_json(nlohmann::json::parse(to_json(optimizer).dump())), optimizer);
}

TEST(OptimizerSteps, ADamagedUpdateIsRefusedBeforeItReadsBeyondATensor) {
    Graph graph = step_with({"mlp_scripted", "adamw"});
    const OpId update = updates(graph).front();
    nlohmann::json tape = *graph.replay;
    const int grads = tape["ops"][update.index()]["arguments"][1]["tensors"][0];
    nlohmann::json other = tape["operands"][static_cast<std::size_t>(grads)];
    other[2] = {1}, other[3] = {1};
    tape["operands"].push_back(other);
    tape["ops"][update.index()]["arguments"][1]["tensors"][0] = tape["operands"].size() - 1;
    graph.replay = std::make_shared<const nlohmann::json>(tape);
    const Result<Executor> executor =
        Executor::create(graph, *load_model(model_path("mlp_scripted")), test::cpu());
    ASSERT_FALSE(executor);
    EXPECT_THAT(executor.error().message, HasSubstr("lie differently"));
}

}  // namespace
}  // namespace rematlas
