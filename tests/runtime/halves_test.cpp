// Compares a step in two halves, with the caller's loss between them, with autograd on the original.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/schedule/run_sequence.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/executor.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using test::captured;
using test::cpu;
using test::model_path;
using ::testing::HasSubstr;

constexpr std::uint64_t generator_seed = 5;

std::vector<at::Tensor> tensors_of(const Model& model) {
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& named : model.tensors) tensors.push_back(named.tensor);
    return tensors;
}

/// Imitates a loss that draws random numbers: returns a random gradient for each output.
std::vector<at::Tensor> loss_gradients(const std::vector<at::Tensor>& outputs) {
    at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& output : outputs) gradients.push_back(at::rand(output.sizes(), output.options()));
    return gradients;
}

/// The effects of a step that its caller can see, in the order in which they occur.
struct Seen {
    std::vector<at::Tensor> outputs, buffers_after_forward, gradients, buffers;
    std::unique_ptr<GeneratorState> after_forward, after;
};

Seen seen_of_original(const std::string& name, const std::vector<at::Tensor>& inputs) {
    Model model = load_model(model_path(name)).take();
    cpu().seed_generator(generator_seed);
    Seen seen;
    const std::vector<at::Tensor> outputs = model.forward(inputs);
    for (const at::Tensor& output : outputs) seen.outputs.push_back(output.detach());
    seen.outputs = copies_of(seen.outputs);
    seen.after_forward = cpu().generator_state();
    seen.buffers_after_forward = copies_of(tensors_of(model));
    std::vector<at::Tensor> parameters;
    for (const NamedTensor& named : model.trained()) parameters.push_back(named.tensor);
    seen.gradients = torch::autograd::grad(outputs, parameters, loss_gradients(outputs), false, false, true);
    seen.after = cpu().generator_state();
    seen.buffers = copies_of(tensors_of(model));
    return seen;
}

std::vector<at::Tensor> inputs_of(const std::string& name) {
    return draw_inputs(test::model_inputs(name), 11);
}

class Halves : public ::testing::TestWithParam<const char*> {
  protected:
    void expect_as_original(const RunSequence& runs) {
        const std::string name = GetParam();
        const std::vector<at::Tensor> inputs = inputs_of(name);
        const Seen original = seen_of_original(name, inputs);
        const Graph& graph = captured(name);
        const Plan plan = test::plan_of(graph, runs);
        const Model model = load_model(model_path(name)).take();
        Executor executor = Executor::create(graph, model.tensors, "the model", cpu()).take();

        cpu().seed_generator(generator_seed);
        Result<Forwarded> forward = executor.forward(plan.schedule.steps, inputs);
        ASSERT_TRUE(forward) << forward.error().message;
        EXPECT_TRUE(identical(forward->outputs, original.outputs));
        EXPECT_TRUE(cpu().generator_state()->equals(*original.after_forward));
        EXPECT_TRUE(identical(tensors_of(model), original.buffers_after_forward));

        Result<Replayed> backward = executor.backward(forward->number, loss_gradients(forward->outputs));
        ASSERT_TRUE(backward) << backward.error().message;
        EXPECT_TRUE(identical(backward->gradients, original.gradients));
        EXPECT_TRUE(cpu().generator_state()->equals(*original.after));
        EXPECT_TRUE(identical(tensors_of(model), original.buffers));
        EXPECT_EQ(backward->peak, plan.schedule.peak);
    }
    FlatGraph flat() const { return flatten(captured(GetParam())); }
};

TEST_P(Halves, AreAsTheOriginalWithoutRecomputation) {
    expect_as_original(keep_all_sequence(flat()));
}

TEST_P(Halves, AreAsTheOriginalWithReruns) {
    for (std::uint64_t seed : {1, 2})
        expect_as_original(test::shuffled_with_reruns(flat(), 0.4, false, seed));
}

INSTANTIATE_TEST_SUITE_P(SmallModels, Halves,
                         ::testing::Values("resnet_scripted", "gpt_scripted", "translator_traced",
                                           "lstm_scripted", "inplace_scripted", "inplace_traced"),
                         [](const auto& info) { return std::string(info.param); });

/// Returns an order in which an op runs after the loss if the outputs do not need it. Such ops make dropout
/// masks for the backward or count steps, for example.
RunSequence late(const FlatGraph& graph, std::int32_t loss) {
    std::vector<std::uint8_t> needed(graph.op_count);
    needed[loss] = true;
    for (std::int32_t op = loss; op >= 0; --op) {
        for (std::int32_t made : graph.outputs[op])
            for (std::int32_t user : graph.users[made]) needed[op] |= needed[user];
    }
    for (std::int32_t op = loss + 1; op < graph.op_count; ++op) needed[op] = false;
    RunSequence runs;
    for (const bool now : {true, false})
        for (std::int32_t op = 0; op < graph.op_count; ++op)
            if (bool(needed[op]) == now) runs.push_back(op);
    return runs;
}

class HalvesOfOneStep : public ::testing::Test {
  protected:
    void SetUp() override {
        model_ = load_model(model_path("gpt_scripted")).take();
        const Graph& graph = captured("gpt_scripted");
        plan_ = test::plan_of(graph, test::shuffled_with_reruns(flatten(graph), 0.4, false, 3));
        executor_.emplace(Executor::create(plan_.graph, model_.tensors, "the model", cpu()).take());
        inputs_ = inputs_of("gpt_scripted");
    }
    Forwarded forward() {
        Result<Forwarded> forward = executor_->forward(plan_.schedule.steps, inputs_);
        EXPECT_TRUE(forward) << forward.error().message;
        return forward.take();
    }
    std::string error_of_backward(const Forwarded& forward) {
        const Result<Replayed> backward =
            executor_->backward(forward.number, loss_gradients(forward.outputs));
        return backward ? "" : backward.error().message;
    }

    Model model_;
    Plan plan_;
    std::optional<Executor> executor_;
    std::vector<at::Tensor> inputs_;
};

TEST_F(HalvesOfOneStep, SeveralForwardsAreOpenAndEachHasItsBackward) {
    cpu().seed_generator(generator_seed);
    const Forwarded alone = forward();
    const std::vector<at::Tensor> given = loss_gradients(alone.outputs);
    const std::vector<at::Tensor> expected = executor_->backward(alone.number, given).take().gradients;

    cpu().seed_generator(generator_seed);
    const Forwarded first = forward(), second = forward(), third = forward();
    EXPECT_EQ(executor_->open(), 3u);
    EXPECT_EQ(error_of_backward(third), "");
    Result<Replayed> backward = executor_->backward(first.number, given);
    ASSERT_TRUE(backward) << backward.error().message;
    EXPECT_TRUE(identical(backward->gradients, expected));
    EXPECT_EQ(error_of_backward(second), "");
    EXPECT_THAT(error_of_backward(second), HasSubstr("has run before"));
    EXPECT_EQ(executor_->open(), 0u);
}

TEST_F(HalvesOfOneStep, PartsOfTheBackwardHandTheirGradientsOutAndHoldThemNoLonger) {
    cpu().seed_generator(generator_seed);
    const Forwarded whole = forward();
    const std::vector<at::Tensor> given = loss_gradients(whole.outputs);
    const std::vector<at::Tensor> expected = executor_->backward(whole.number, given).take().gradients;

    cpu().seed_generator(generator_seed);
    const Forwarded step = forward();
    ASSERT_GT(step.parts, 1u);
    std::vector<at::Tensor> gradients = given, made(expected.size());
    for (std::size_t part = 0; part < step.parts; ++part, gradients.clear()) {
        Result<BackwardPartDone> done = executor_->backward_part(step.number, gradients);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->last, part + 1 == step.parts);
        EXPECT_FALSE(done->gradients.empty());
        for (auto& [place, gradient] : done->gradients) {
            EXPECT_EQ(gradient.storage().use_count(), 1u);
            made[place] = std::move(gradient);
        }
    }
    EXPECT_TRUE(identical(made, expected));
}

TEST_F(HalvesOfOneStep, ADroppedForwardHoldsNothing) {
    const std::int64_t before = cpu().alive_bytes();
    Forwarded dropped = forward();
    const std::int64_t outputs = static_cast<std::int64_t>(dropped.outputs[0].storage().nbytes());
    EXPECT_GT(cpu().alive_bytes(), before + outputs);
    executor_->drop(dropped.number);
    EXPECT_EQ(cpu().alive_bytes(), before + outputs);
    EXPECT_THAT(error_of_backward(dropped), HasSubstr("dropped"));
}

TEST_F(HalvesOfOneStep, ParametersThatWereWrittenToAreNoticed) {
    const Forwarded step = forward();
    {
        at::NoGradGuard no_grad;
        at::Tensor(model_.tensors.front().tensor).add_(1.0);
    }
    EXPECT_THAT(error_of_backward(step), HasSubstr("parameter " + model_.tensors.front().name));
}

TEST_F(HalvesOfOneStep, ParametersMayMoveBetweenSteps) {
    forward();
    at::Tensor parameter = model_.tensors.front().tensor;
    parameter.set_data(parameter.detach().clone());
    const Forwarded step = forward();
    EXPECT_EQ(error_of_backward(step), "");
    parameter.set_data(at::ones({3}));
    const Result<Forwarded> wrong = executor_->forward(plan_.schedule.steps, inputs_);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, HasSubstr(model_.tensors.front().name));
}

TEST_F(HalvesOfOneStep, AnInputMayBePartOfALargerTensor) {
    const at::Tensor whole = at::stack({inputs_[0].mul(0), inputs_[0]});
    cpu().seed_generator(1);
    const at::Tensor expected = forward().outputs[0].clone();
    inputs_ = {whole.select(0, 1)};
    cpu().seed_generator(1);
    EXPECT_TRUE(identical(forward().outputs[0], expected));
}

TEST_F(HalvesOfOneStep, AnInputInAnotherOrderOfMemoryIsRefused) {
    const Result<Forwarded> result =
        executor_->forward(plan_.schedule.steps, {inputs_[0].t().contiguous().t()});
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("strides"));
}

TEST_F(HalvesOfOneStep, GradientsThatTheCallerKeepsAreNotWrittenTo) {
    const Forwarded step = forward();
    const std::vector<at::Tensor> gradients = loss_gradients(step.outputs), kept = copies_of(gradients);
    ASSERT_TRUE(executor_->backward(step.number, gradients));
    EXPECT_TRUE(identical(gradients, kept));
}

TEST(HalvesOfLateOps, TurnsOfTheGeneratorArePassedAtTheEndOfForward) {
    for (const char* name : {"gpt_scripted", "inplace_scripted", "resnet_scripted"}) {
        SCOPED_TRACE(name);
        const std::vector<at::Tensor> inputs = inputs_of(name);
        const Seen original = seen_of_original(name, inputs);
        const Graph& graph = captured(name);
        std::int32_t loss = 0;
        while (graph.ops[OpId(loss)].phase != Phase::loss) ++loss;
        const FlatGraph flat = flatten(graph);
        const RunSequence runs = late(flat, loss);
        ASSERT_TRUE(is_executable(flat, runs));
        const Plan plan = test::plan_of(graph, runs);
        const Model model = load_model(model_path(name)).take();
        Executor executor = Executor::create(graph, model.tensors, "the model", cpu()).take();
        cpu().seed_generator(generator_seed);
        Result<Forwarded> forward = executor.forward(plan.schedule.steps, inputs);
        ASSERT_TRUE(forward) << forward.error().message;
        EXPECT_TRUE(cpu().generator_state()->equals(*original.after_forward));
        EXPECT_TRUE(identical(tensors_of(model), original.buffers_after_forward));
        Result<Replayed> backward = executor.backward(forward->number, loss_gradients(forward->outputs));
        ASSERT_TRUE(backward) << backward.error().message;
        EXPECT_TRUE(identical(backward->gradients, original.gradients));
        EXPECT_TRUE(identical(tensors_of(model), original.buffers));
        EXPECT_TRUE(cpu().generator_state()->equals(*original.after));
    }
}

}  // namespace
}  // namespace rematlas
