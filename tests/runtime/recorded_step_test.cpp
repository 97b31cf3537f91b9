// A step that was recorded once and is submitted as a whole, against plain replay.
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "runtime/model/torchscript.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/executor.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/recording_device.h"

namespace rematlas {
namespace {

using test::captured;
using test::cpu;
using test::model_path;
using test::RecordingDevice;
using ::testing::HasSubstr;

std::vector<at::Tensor> tensors_of(const Model& model) {
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& named : model.tensors) tensors.push_back(named.tensor);
    return tensors;
}

class RecordedStep : public ::testing::TestWithParam<const char*> {};

/// Three steps with other data each, the weights and buffers moving on.
TEST_P(RecordedStep, IsIdenticalToPlainReplayOverSteps) {
    const Graph& graph = captured(GetParam());
    const FlatGraph flat = flatten(graph);
    Model plain_model = load_model(model_path(GetParam())).take();
    Model recorded_model = load_model(model_path(GetParam())).take();
    RecordingDevice device(cpu(), tensors_of(recorded_model));
    Result<Executor> plain = Executor::create(graph, plain_model, cpu());
    Result<Executor> recorded = Executor::create(graph, recorded_model, device);
    ASSERT_TRUE(plain && recorded);
    const std::vector<Step> steps = lower(flat, test::shuffled_with_reruns(flat, 0.4, /*shuffle=*/true, 5));
    const auto specs = test::model_inputs(GetParam());
    const Result<void> done = recorded->record(steps, draw_inputs(specs, 1));
    ASSERT_TRUE(done) << done.error().message;
    cpu().seed_generator(3);
    std::unique_ptr<GeneratorState> of_plain = cpu().generator_state(), of_recorded = cpu().generator_state();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const std::vector<at::Tensor> inputs = draw_inputs(specs, i);
        cpu().set_generator_state(*of_plain);
        const Result<Replayed> expected = plain->run(steps, inputs, {.gradient_seed = i});
        ASSERT_TRUE(expected) << expected.error().message;
        of_plain = cpu().generator_state();
        cpu().set_generator_state(*of_recorded);
        const Result<Replayed> step = recorded->run_recorded(inputs, i);
        ASSERT_TRUE(step) << step.error().message;
        of_recorded = cpu().generator_state();
        EXPECT_TRUE(identical(step->outputs, expected->outputs)) << i;
        EXPECT_TRUE(identical(step->gradients, expected->gradients)) << i;
        EXPECT_TRUE(identical(tensors_of(recorded_model), tensors_of(plain_model))) << i;
        EXPECT_TRUE(of_recorded->equals(*of_plain)) << i;
        for (const auto& [model, result] :
             {std::pair(&plain_model, &*expected), std::pair(&recorded_model, &*step)}) {
            at::NoGradGuard no_grad;
            const std::vector<NamedTensor> trained = model->trained();
            for (std::size_t k = 0; k < trained.size(); ++k)
                if (result->gradients[k].defined())
                    at::Tensor(trained[k].tensor).add_(result->gradients[k], -1e-2);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, RecordedStep,
                         ::testing::Values("mlp_scripted", "resnet_traced", "gpt_scripted", "unet_scripted",
                                           "translator_scripted", "inplace_scripted"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RecordedSteps, WhatCannotBeDoneIsSaid) {
    const Graph& graph = captured("mlp_scripted");
    const FlatGraph flat = flatten(graph);
    const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    Model model = load_model(model_path("mlp_scripted")).take();
    const std::vector<at::Tensor> inputs = draw_inputs(test::model_inputs("mlp_scripted"), 1);
    Result<Executor> plain = Executor::create(graph, model, cpu());
    ASSERT_TRUE(plain);
    EXPECT_THAT(plain->record(steps, inputs).error().message, HasSubstr("cpu cannot be recorded"));
    RecordingDevice device(cpu(), tensors_of(model));
    Result<Executor> executor = Executor::create(graph, model, device);
    ASSERT_TRUE(executor);
    EXPECT_THAT(executor->run_recorded(inputs, 1).error().message, HasSubstr("no step was recorded"));
    ASSERT_TRUE(executor->record(steps, inputs));
    EXPECT_THAT(executor->run_recorded({}, 1).error().message, HasSubstr("takes 1 inputs"));
    at::Tensor moved = model.tensors.front().tensor;
    {
        at::NoGradGuard no_grad;
        moved.set_data(moved.clone());
    }
    EXPECT_THAT(executor->run_recorded(inputs, 1).error().message, HasSubstr("other memory"));
}

}  // namespace
}  // namespace rematlas
