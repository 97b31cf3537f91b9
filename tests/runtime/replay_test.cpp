// Compares replay with the original, bit by bit, for a table of models and schedules.
#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using test::captured;
using test::model_path;
using test::plan_of;
using test::shuffled_with_reruns;

struct SmallModel {
    const char* name;
};
void PrintTo(const SmallModel& model, std::ostream* out) {
    *out << model.name;
}

class Replay : public ::testing::TestWithParam<SmallModel> {
  protected:
    void expect_identical(const RunSequence& runs, int steps) {
        const Graph& graph = captured(GetParam().name);
        ASSERT_FALSE(graph.ops.empty());
        ASSERT_TRUE(is_executable(flatten(graph), runs));
        const Plan plan = plan_of(graph, runs);
        const Result<RunReport> report =
            run_plan(plan, model_path(GetParam().name), {.steps = steps, .verify = true}, test::cpu());
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->outputs_identical);
        EXPECT_TRUE(report->gradients_identical);
        EXPECT_TRUE(report->buffers_identical);
        EXPECT_TRUE(report->random_state_identical);
        EXPECT_TRUE(report->verified) << report->mismatch;
        EXPECT_NEAR(double(report->measured_peak.value), double(report->predicted_peak.value),
                    0.002 * double(report->predicted_peak.value));
    }
    FlatGraph flat() const { return flatten(captured(GetParam().name)); }
};

TEST_P(Replay, WithoutRecomputationIsIdenticalOverSteps) {
    expect_identical(keep_all_sequence(flat()), 4);
}

TEST_P(Replay, WithoutRecomputationNeedsNoMoreThanTheOriginal) {
    const Graph& graph = captured(GetParam().name);
    const Plan plan = plan_of(graph, keep_all_sequence(flatten(graph)));
    const Result<RunReport> report =
        run_plan(plan, model_path(GetParam().name), {.steps = 1, .verify = true}, test::cpu());
    ASSERT_TRUE(report) << report.error().message;
    // The replay may exceed the original's peak by the bytes of constants and of new values of buffers. The
    // replay holds them. The original makes its constants in each step, and overwrites its buffers in place.
    std::int64_t allowed = 0;
    for (const Tensor& tensor : graph.tensors) {
        if (tensor.kind == TensorKind::constant || tensor.name.ends_with(":new"))
            allowed += tensor.bytes.value;
    }
    EXPECT_LE(report->measured_peak.value, report->original_peak.value + allowed);
}

TEST_P(Replay, WithRerunsIsIdentical) {
    for (std::uint64_t seed : {1, 2})
        expect_identical(shuffled_with_reruns(flat(), 0.4, /*shuffle=*/false, seed), 2);
}

TEST_P(Replay, InAnotherOrderIsIdentical) {
    expect_identical(shuffled_with_reruns(flat(), 0.0, /*shuffle=*/true, 3), 2);
    expect_identical(shuffled_with_reruns(flat(), 0.3, /*shuffle=*/true, 4), 2);
}

INSTANTIATE_TEST_SUITE_P(SmallModels, Replay,
                         ::testing::Values(SmallModel{"mlp_scripted"}, SmallModel{"mlp_traced"},
                                           SmallModel{"resnet_scripted"}, SmallModel{"resnet_traced"},
                                           SmallModel{"gpt_scripted"}, SmallModel{"gpt_traced"},
                                           SmallModel{"unet_scripted"}, SmallModel{"unet_traced"},
                                           SmallModel{"translator_scripted"}, SmallModel{"translator_traced"},
                                           SmallModel{"lstm_scripted"}, SmallModel{"lstm_traced"},
                                           SmallModel{"inplace_scripted"}, SmallModel{"inplace_traced"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace rematlas
