// Tests ScheduledModule (runtime/training) from C++, in an ordinary loop with autograd and steps of an
// optimizer.
#include "runtime/training/scheduled_module.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/square.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/copying_plan.h"

namespace rematlas {
namespace {

using ::testing::HasSubstr;

class ScheduledModules : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("rematlas_scheduled_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path plan_of(const std::string& name) {
        const Graph& graph = test::captured(name);
        return written(name, test::plan_of(graph, test::shuffled_with_reruns(flatten(graph), 0.3, false, 1)));
    }
    std::filesystem::path written(const std::string& name, Plan plan) {
        const std::string text = graph_text(plan.graph);
        plan.schedule.graph_sha256 = sha256(text);
        EXPECT_TRUE(write_plan(text, plan.schedule, folder_ / (name + ".plan")));
        return folder_ / (name + ".plan");
    }
    /// Trains with the plan and without it, and expects equal results.
    static void expect_as_original(const std::string& name, const std::filesystem::path& plan);

    std::filesystem::path folder_;
};

/// Returns the losses of a few steps of plain gradient descent.
template <class Forward>
std::vector<at::Tensor> train(const Model& model, const std::vector<InputSpec>& specs, Forward&& forward) {
    test::cpu().seed_generator(4);
    std::vector<at::Tensor> losses;
    for (int step = 0; step < 4; ++step) {
        const at::Tensor loss = at::mean(at::square(forward(draw_inputs(specs, step))));
        loss.backward();
        losses.push_back(loss.detach());
        at::NoGradGuard no_grad;
        for (const NamedTensor& named : model.trained()) {
            at::Tensor parameter = named.tensor;
            parameter.sub_(parameter.grad(), 0.01);
            parameter.mutable_grad() = at::Tensor();
        }
    }
    return losses;
}

void ScheduledModules::expect_as_original(const std::string& name, const std::filesystem::path& plan) {
    SCOPED_TRACE(name);
    const std::vector<InputSpec> specs = test::model_inputs(name);
    Model plain = load_model(test::model_path(name)).take(),
          model = load_model(test::model_path(name)).take();
    Result<ScheduledModule> scheduled = ScheduledModule::load(plan, model.tensors, "the model");
    ASSERT_TRUE(scheduled) << scheduled.error().message;
    const auto expected = train(
        plain, specs, [&](const std::vector<at::Tensor>& inputs) { return plain.forward(inputs).front(); });
    const auto found = train(model, specs, [&](const std::vector<at::Tensor>& inputs) {
        return scheduled->forward(inputs).take().front();
    });
    EXPECT_TRUE(identical(found, expected));
    for (std::size_t i = 0; i < model.tensors.size(); ++i)
        EXPECT_TRUE(identical(model.tensors[i].tensor, plain.tensors[i].tensor)) << model.tensors[i].name;
    EXPECT_EQ(scheduled->last_peak(), scheduled->predicted_peak());
}

TEST_F(ScheduledModules, TrainAsTheOriginal) {
    for (const char* name : {"gpt_scripted", "resnet_traced"}) expect_as_original(name, plan_of(name));
}

TEST_F(ScheduledModules, TrainAsTheOriginalWithWhatOpsMakeOnTheHost) {
    for (const char* name : {"gpt_scripted", "resnet_traced"}) {
        const Plan plan =
            test::copying_plan(test::captured(name), {.residents = false, .most = 60, .seed = 2});
        EXPECT_GT(test::copies_in(plan.schedule), 20);
        expect_as_original(name, written(name, plan));
    }
}

/// In training, the caller's optimizer, checkpoints and evaluation may read parameters at any time. So a plan
/// that offloads parameters is refused.
TEST_F(ScheduledModules, SayWhatCannotLeaveTheDeviceWhenTheyAreLoaded) {
    const Model model = load_model(test::model_path("gpt_scripted")).take();
    const Graph& graph = test::captured("gpt_scripted");
    const auto error_of = [&](const test::CopyingOptions& options) {
        const Result<ScheduledModule> loaded = ScheduledModule::load(
            written("gpt_scripted", test::copying_plan(graph, options)), model.tensors, "gpt_scripted.pt");
        return loaded ? "" : loaded.error().message;
    };
    EXPECT_THAT(error_of({.made = false}),
                HasSubstr("leaves the device and does not live on the host: in training"));
    EXPECT_THAT(error_of({.made = false, .homes = true}),
                HasSubstr("leaves the device and does not live on the host: in training"));
}

TEST_F(ScheduledModules, OutlivedByTheirGraph) {
    Model model = load_model(test::model_path("mlp_scripted")).take();
    at::Tensor output;
    {
        Result<ScheduledModule> scheduled =
            ScheduledModule::load(plan_of("mlp_scripted"), model.tensors, "the model");
        ASSERT_TRUE(scheduled) << scheduled.error().message;
        output = scheduled->forward(draw_inputs(test::model_inputs("mlp_scripted"), 1)).take().front();
    }
    at::mean(output).backward();
    EXPECT_TRUE(model.trained().front().tensor.grad().defined());
}

TEST_F(ScheduledModules, RefuseAnotherModel) {
    const Model other = load_model(test::model_path("unet_scripted")).take();
    const Result<ScheduledModule> scheduled =
        ScheduledModule::load(plan_of("mlp_scripted"), other.tensors, "unet_scripted.pt");
    ASSERT_FALSE(scheduled);
    EXPECT_THAT(scheduled.error().message, HasSubstr("unet_scripted.pt: the model has no parameter"));
}

TEST_F(ScheduledModules, RefuseToRunWithoutGradients) {
    const Model model = load_model(test::model_path("mlp_scripted")).take();
    Result<ScheduledModule> scheduled =
        ScheduledModule::load(plan_of("mlp_scripted"), model.tensors, "the model");
    ASSERT_TRUE(scheduled) << scheduled.error().message;
    at::NoGradGuard no_grad;
    const auto outputs = scheduled->forward(draw_inputs(test::model_inputs("mlp_scripted"), 1));
    ASSERT_FALSE(outputs);
    EXPECT_THAT(outputs.error().message, HasSubstr("run the model itself"));
}

}  // namespace
}  // namespace rematlas
