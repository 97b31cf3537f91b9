// Captures and replays every module of the table of resources/models/modules.py, and compares it with the
// original bit by bit.
#include <ATen/ops/from_blob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "runtime/model/load_model.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using test::modules_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Each op below writes to its argument, returns it, or returns another tensor in the same memory. The
/// schemas do not say so.
at::Tensor writes_argument(const at::Tensor& x) {
    at::Tensor(x).mul_(2.0);
    return x.clone();
}
at::Tensor returns_argument(const at::Tensor& x) {
    return x;
}
at::Tensor shares_memory(const at::Tensor& x) {
    return at::from_blob(x.mutable_data_ptr(), x.sizes(), x.options());
}
TORCH_LIBRARY(rematlas_test, library) {
    library.def("writes_argument(Tensor x) -> Tensor");
    library.def("returns_argument(Tensor x) -> Tensor");
    library.def("shares_memory(Tensor x) -> Tensor");
}
void implement(torch::Library& library) {
    library.impl("writes_argument", writes_argument);
    library.impl("returns_argument", returns_argument);
    library.impl("shares_memory", shares_memory);
}
TORCH_LIBRARY_IMPL(rematlas_test, CPU, library) {
    implement(library);
}
TORCH_LIBRARY_IMPL(rematlas_test, CUDA, library) {
    implement(library);
}

class Modules : public ::testing::TestWithParam<std::string> {
  protected:
    template <class Runs>
    static void for_each_module(Runs&& runs) {
        const std::vector<std::string> names = modules_of(GetParam());
        ASSERT_GE(names.size(), 5u);
        for (const std::string& name : names) {
            SCOPED_TRACE(name);
            // The trace of this module contains a window tensor on the host.
            if (name == "modules/stft" && !test::step_device().device().is_cpu()) continue;
            const Graph& graph = test::captured(name);
            EXPECT_FALSE(graph.ops.empty());
            if (!graph.ops.empty()) test::expect_identical(name, test::plan_of(graph, runs(flatten(graph))));
        }
    }
};

TEST_P(Modules, WithoutRecomputationAreIdentical) {
    for_each_module([](const FlatGraph& graph) { return keep_all_sequence(graph); });
}

TEST_P(Modules, WithRerunsAreIdentical) {
    for_each_module(
        [](const FlatGraph& graph) { return test::shuffled_with_reruns(graph, 0.4, /*shuffle=*/false, 5); });
}

TEST_P(Modules, WithRerunsInAnotherOrderAreIdentical) {
    for_each_module(
        [](const FlatGraph& graph) { return test::shuffled_with_reruns(graph, 0.3, /*shuffle=*/true, 6); });
}

INSTANTIATE_TEST_SUITE_P(Table, Modules,
                         ::testing::Values("convolution", "linear", "normalization", "dropout", "attention",
                                           "recurrent", "loss", "arithmetic", "guarded", "precision",
                                           "complex", "image", "structure"),
                         [](const auto& info) { return info.param; });

TEST(ComplexModules, ReadLazyConjugatesAndNegativesWithoutCopies) {
    const auto flags_of = [](const Graph& graph) {
        int flags = 0;
        for (const auto& operand : graph.replay->at("operands"))
            if (operand.size() > 5) flags |= operand[5].get<int>();
        return flags;
    };
    EXPECT_TRUE(flags_of(test::captured("modules/lazy_conjugates")) & 4) << "a conjugate";
    EXPECT_TRUE(flags_of(test::captured("modules/lazy_conjugates")) & 8) << "a negative";
}

TEST(NormalizationModules, EveryRunTakesWhatWasPredicted) {
    for (const std::string& name : modules_of("normalization")) {
        SCOPED_TRACE(name);
        const Graph& graph = test::captured(name);
        const Plan plan = test::plan_of(graph, test::shuffled_with_reruns(flatten(graph), 0.6, false, 7));
        const Simulation predicted = simulate(graph, plan.schedule.steps).take();
        const Model model = load_model(test::model_path(name), test::cpu().device()).take();
        Executor executor = Executor::create(graph, model, test::cpu()).take();
        const Result<Replayed> step =
            executor.run(plan.schedule.steps, draw_inputs(test::model_inputs(name), 1),
                         {.gradient_seed = 1, .time_ops = true, .measure_ops = true});
        ASSERT_TRUE(step) << step.error().message;
        for (std::size_t i = 1; i < plan.schedule.steps.size(); ++i) {
            if (!plan.schedule.steps[i].runs()) continue;
            EXPECT_EQ(step->steps[i].workspace,
                      (predicted.steps[i].during - predicted.steps[i - 1].after).value)
                << "step " << i << ", " << graph.ops[plan.schedule.steps[i].op()].name;
        }
    }
}

TEST(PrecisionModules, ScriptedAutocastIsCarriedOut) {
    const auto products_in = [](const std::string& name, const std::string& dtype) {
        const Graph& graph = test::captured(name);
        const nlohmann::json& tape = *graph.replay;
        return std::count_if(tape.at("ops").begin(), tape.at("ops").end(), [&](const nlohmann::json& op) {
            return op.at("op") == "aten::mm" &&
                   tape.at("operands").at(op.at("arguments").at(0).at("tensor").get<int>()).at(1) == dtype;
        });
    };
    EXPECT_GE(products_in("modules/autocast_bf16_scripted", "bf16"), 4) << "two layers, forward and backward";
    EXPECT_GE(products_in("modules/autocast_f16_scripted", "f16"), 4);
    EXPECT_EQ(products_in("modules/autocast_f16_scripted", "f32"), 0);
}

/// On the host, rrelu draws a number for each element below zero. So the numbers that a later dropout draws
/// are known only after rrelu has run.
TEST(DrawingModules, ThatDrawByValuesKeepTheirTurn) {
    const std::string name = "modules/draws_by_values";
    const Graph& graph = test::captured(name);
    int verified = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Plan plan = test::plan_of(
            graph, test::shuffled_with_reruns(flatten(graph), 0.3, /*shuffle=*/seed % 2 == 0, seed));
        const Result<RunReport> report =
            run_plan(plan, test::model_path(name), {.steps = 2, .verify = true}, test::cpu());
        if (report) {
            EXPECT_TRUE(report->verified) << seed << ": " << report->mismatch;
            ++verified;
        } else {
            EXPECT_THAT(report.error().message, HasSubstr("cannot be foreseen"));
            ++refused;
        }
    }
    EXPECT_GT(verified, 0);
    EXPECT_GT(refused, 0);
}

std::string refusal_of(const std::string& name) {
    const Result<Graph> graph = capture(test::model_path(name), test::quick(name), test::step_device());
    EXPECT_FALSE(graph) << name;
    return graph ? std::string() : graph.error().message;
}

TEST(RefusedModules, SparseGradientsNameTheModuleAndTheLine) {
    const std::string message = refusal_of("modules/sparse_gradient");
    EXPECT_THAT(message,
                AllOf(HasSubstr("sparse_gradient.pt: cannot be captured: aten::"), HasSubstr(" of table at "),
                      HasSubstr(".py:"), HasSubstr("a sparse, nested or opaque tensor")));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(RefusedModules, ShapesThatDependOnTheDataNameTheModuleAndTheLine) {
    const std::string message = refusal_of("modules/filtered");
    EXPECT_THAT(message, AllOf(HasSubstr("filtered.pt: cannot be captured: aten::"),
                               HasSubstr(" in pick at modules.py:"), HasSubstr("depends on the data")));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(RefusedModules, LoopsThatDependOnTheDataNameTheModuleAndTheLine) {
    EXPECT_THAT(
        refusal_of("modules/repeated"),
        AllOf(HasSubstr("repeated.pt: cannot be captured: aten::_local_scalar_dense in 1.0 at modules.py:"),
              HasSubstr("may depend on the data")));
}

TEST(RefusedModules, LengthsOfSequencesNameTheModuleAndTheLine) {
    EXPECT_THAT(refusal_of("modules/lengths"), AllOf(HasSubstr(" at modules.py:"), HasSubstr("on the data")));
}

TEST(RefusedModules, ValuesReadWhereNoOpShowsItAreFoundByASecondStep) {
    EXPECT_THAT(refusal_of("modules/ctc_lengths"),
                AllOf(HasSubstr("ctc_lengths.pt: cannot be captured: with other data its replay gives other"),
                      HasSubstr("where no op shows it")));
}

TEST(RefusedModules, UndeclaredWritesNameTheModuleAndTheLine) {
    const std::string message = refusal_of("modules/writes_argument");
    EXPECT_THAT(message, AllOf(HasSubstr("rematlas_test::writes_argument in 1.0 at modules.py:"),
                               HasSubstr("writes to its argument 0 without declaring it")));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(RefusedModules, UndeclaredSharingOfMemoryNamesTheModuleAndTheLine) {
    EXPECT_THAT(refusal_of("modules/shares_memory"),
                AllOf(HasSubstr("rematlas_test::shares_memory in 1.0 at modules.py:"),
                      HasSubstr("returns memory of its argument 0 without declaring it")));
}

TEST(RefusedModules, OverloadedForwardAndListsOfInputsSayWhatToDo) {
    EXPECT_THAT(refusal_of("modules/bare_lstm"),
                HasSubstr("bare_lstm.pt: the module has several forward methods"));
    EXPECT_THAT(refusal_of("modules/list_in"),
                AllOf(HasSubstr("list_in.pt: forward takes 'inputs' of type List[Tensor]"),
                      HasSubstr("single tensors")));
}

TEST(RefusedModules, StatisticsThatReadACounterNameTheModuleAndTheLine) {
    EXPECT_THAT(
        refusal_of("modules/cumulative_average"),
        AllOf(
            HasSubstr("cannot be captured: aten::_local_scalar_dense in 1 at torch/nn/modules/batchnorm.py:"),
            HasSubstr("may depend on the data")));
}

TEST(RefusedModules, ValuesThatTheProgramReadsNameTheModuleAndTheLine) {
    for (const char* name : {"modules/loss_read", "modules/norm_of_weights", "modules/checked"}) {
        const std::string message = refusal_of(name);
        EXPECT_THAT(message,
                    AllOf(HasSubstr("cannot be captured: aten::_local_scalar_dense in 1.0 at modules.py:"),
                          HasSubstr("may depend on the data")));
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
}

TEST(GuardedModules, StopAtAValueThatChangesTheCourse) {
    const std::string name = "modules/product";
    const Graph& graph = test::captured(name);
    const Model model = load_model(test::model_path(name), test::cpu().device()).take();
    Executor executor = Executor::create(graph, model, test::cpu()).take();
    const std::vector<Step> steps = lower(flatten(graph), keep_all_sequence(flatten(graph)));
    std::vector<at::Tensor> inputs = draw_inputs(test::model_inputs(name), 1);
    EXPECT_TRUE(executor.run(steps, inputs));
    inputs[0].mutable_data_ptr<float>()[5] = 0;  // with a zero, the product's gradient uses another formula
    const Result<Replayed> stopped = executor.run(steps, inputs);
    ASSERT_FALSE(stopped);
    EXPECT_THAT(stopped.error().message,
                AllOf(HasSubstr("the program reads 1 at modules.py:"),
                      HasSubstr("and 0 when it was captured: its course depends on the data")));
}

TEST(GuardedModules, KeepTheirGuardsInTheFile) {
    const Graph& graph = test::captured("modules/product");
    const Tape tape =
        tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size()).take();
    int guards = 0;
    for (OpId op : graph.ops.ids()) {
        if (!tape.ops[op].guard) continue;
        ++guards;
        EXPECT_FALSE(graph.ops[op].recomputable);
        EXPECT_THAT(tape.ops[op].guard->line, HasSubstr("modules.py:"));
    }
    EXPECT_EQ(guards, 1);
}

TEST(FixedInputs, StandBetweenTheTensors) {
    const Graph& graph = test::captured("modules/settings");
    EXPECT_EQ((*graph.provenance)["inputs"],
              nlohmann::json({"f32[4,6]", "float:0.5", "int:3", "bool:true", "str:mean", "f32[4,6]"}));
    const auto tanhs = [](const Graph& in) {
        return std::count_if(in.ops.begin(), in.ops.end(),
                             [](const Op& op) { return op.name == "aten::tanh"; });
    };
    EXPECT_EQ(tanhs(graph), 3);
    EXPECT_EQ(tanhs(test::captured("modules/defaults")), 2);
}

}  // namespace
}  // namespace rematlas
