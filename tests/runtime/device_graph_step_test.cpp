// Compares a step that was captured once as a device graph with plain replay.
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/executor.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/graph_capturing_device.h"

namespace rematlas {
namespace {

using test::captured;
using test::cpu;
using test::GraphCapturingDevice;
using test::model_path;
using ::testing::HasSubstr;

std::vector<at::Tensor> all_tensors(const Model& model) {
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& named : model.tensors) tensors.push_back(named.tensor);
    return tensors;
}

class DeviceGraphStep : public ::testing::TestWithParam<const char*> {};

/// Runs three steps, each with different data. The weights and buffers change from step to step.
TEST_P(DeviceGraphStep, IsIdenticalToPlainReplayOverSteps) {
    const Graph& graph = captured(GetParam());
    const FlatGraph flat = flatten(graph);
    Model plain_model = load_model(model_path(GetParam())).take();
    Model captured_model = load_model(model_path(GetParam())).take();
    GraphCapturingDevice device(cpu(), all_tensors(captured_model));
    Result<Executor> plain = Executor::create(graph, plain_model, cpu());
    Result<Executor> captured_once = Executor::create(graph, captured_model, device);
    ASSERT_TRUE(plain && captured_once);
    const std::vector<Step> steps = lower(flat, test::shuffled_with_reruns(flat, 0.4, /*shuffle=*/true, 5));
    const auto specs = test::model_inputs(GetParam());
    const Result<void> done = captured_once->capture_graphs(steps, draw_inputs(specs, 1));
    ASSERT_TRUE(done) << done.error().message;
    cpu().seed_generator(3);
    std::unique_ptr<GeneratorState> of_plain = cpu().generator_state(), of_captured = cpu().generator_state();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const std::vector<at::Tensor> inputs = draw_inputs(specs, i);
        cpu().set_generator_state(*of_plain);
        const Result<Replayed> expected = plain->run(steps, inputs, {.gradient_seed = i});
        ASSERT_TRUE(expected) << expected.error().message;
        of_plain = cpu().generator_state();
        cpu().set_generator_state(*of_captured);
        const Result<Replayed> step = captured_once->run_graphs(inputs, i);
        ASSERT_TRUE(step) << step.error().message;
        of_captured = cpu().generator_state();
        EXPECT_TRUE(identical(step->outputs, expected->outputs)) << i;
        EXPECT_TRUE(identical(step->gradients, expected->gradients)) << i;
        EXPECT_TRUE(identical(all_tensors(captured_model), all_tensors(plain_model))) << i;
        EXPECT_TRUE(of_captured->equals(*of_plain)) << i;
        for (const auto& [model, result] :
             {std::pair(&plain_model, &*expected), std::pair(&captured_model, &*step)}) {
            at::NoGradGuard no_grad;
            const std::vector<NamedTensor> trained = model->trained();
            for (std::size_t k = 0; k < trained.size(); ++k)
                if (result->gradients[k].defined())
                    at::Tensor(trained[k].tensor).add_(result->gradients[k], -1e-2);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceGraphStep,
                         ::testing::Values("mlp_scripted", "resnet_traced", "gpt_scripted", "unet_scripted",
                                           "translator_scripted", "inplace_scripted"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DeviceGraphSteps, WhatCannotBeDoneIsSaid) {
    const Graph& graph = captured("mlp_scripted");
    const FlatGraph flat = flatten(graph);
    const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    Model model = load_model(model_path("mlp_scripted")).take();
    const std::vector<at::Tensor> inputs = draw_inputs(test::model_inputs("mlp_scripted"), 1);
    Result<Executor> plain = Executor::create(graph, model, cpu());
    ASSERT_TRUE(plain);
    EXPECT_THAT(plain->capture_graphs(steps, inputs).error().message, HasSubstr("cpu cannot be captured"));
    GraphCapturingDevice device(cpu(), all_tensors(model));
    Result<Executor> executor = Executor::create(graph, model, device);
    ASSERT_TRUE(executor);
    EXPECT_THAT(executor->run_graphs(inputs, 1).error().message, HasSubstr("no step was captured"));
    ASSERT_TRUE(executor->capture_graphs(steps, inputs));
    EXPECT_THAT(executor->run_graphs({}, 1).error().message, HasSubstr("takes 1 inputs"));
    at::Tensor moved = model.tensors.front().tensor;
    {
        at::NoGradGuard no_grad;
        moved.set_data(moved.clone());
    }
    EXPECT_THAT(executor->run_graphs(inputs, 1).error().message, HasSubstr("other memory"));
}

}  // namespace
}  // namespace rematlas
