// Compares steps that copy tensors to the host with the original, bit by bit. The links copy as early as
// possible, as late as possible, or at random times.
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/planning/request.h"
#include "core/schedule/simulate.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/copying_plan.h"
#include "tests/runtime/transfers/adversarial_copies.h"

namespace rematlas {
namespace {

using test::AdversarialCopies;
using test::captured;
using test::copying_plan;
using test::cpu;
using test::Haste;
using test::model_path;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Overwrites memory that is no longer needed with bytes that are NaN.
void overwrite(void* data, std::size_t bytes) {
    std::memset(data, 0xff, bytes);
}
StepLinks adversarial(Haste haste) {
    return {.copies = std::make_shared<AdversarialCopies>(haste, 5, /*watch=*/false), .forgotten = overwrite};
}

class CopiesOfModules : public ::testing::TestWithParam<std::string> {
  protected:
    /// On a GPU, models with tensors on the host are skipped, because such tensors cannot be offloaded.
    static void for_each_module(const StepLinks& links, std::uint64_t seed) {
        const bool on_cpu = test::step_device().device().is_cpu();
        int copies = 0;
        for (const std::string& name : test::modules_of(GetParam())) {
            SCOPED_TRACE(name);
            if (name == "modules/stft" && !on_cpu) continue;
            const Graph& graph = captured(name);
            if (!on_cpu && test::has_host_tensors(graph)) continue;
            const Plan plan =
                copying_plan(graph, {.homes = seed % 2 == 0, .results = seed % 2 == 0, .seed = seed});
            copies += test::copies_in(plan.schedule);
            test::expect_identical(name, plan, links);
        }
        EXPECT_GT(copies, 30);
    }
};

TEST_P(CopiesOfModules, OverTheLinksOfTheDeviceAreIdentical) {
    for_each_module({}, 2);
}

TEST_P(CopiesOfModules, OverLinksThatAreLateAreIdentical) {
    if (!test::step_device().device().is_cpu())
        GTEST_SKIP() << "the stand-in for a GPU has orders of its own";
    for_each_module(adversarial(Haste::when_waited_for), 3);
}

TEST_P(CopiesOfModules, OverLinksThatDoAsTheyLikeAreIdentical) {
    if (!test::step_device().device().is_cpu())
        GTEST_SKIP() << "the stand-in for a GPU has orders of its own";
    for_each_module(adversarial(Haste::at_random), 4);
}

INSTANTIATE_TEST_SUITE_P(Table, CopiesOfModules,
                         ::testing::Values("convolution", "linear", "normalization", "dropout", "attention",
                                           "recurrent", "loss", "arithmetic", "guarded", "precision",
                                           "complex", "image", "structure"),
                         [](const auto& info) { return info.param; });

class CopiesOfModels : public ::testing::TestWithParam<std::string> {};

TEST_P(CopiesOfModels, AreIdenticalAndTakeTheBytesThatArePredicted) {
    for (const bool homes : {false, true}) {
        const Plan plan =
            copying_plan(captured(GetParam()), {.homes = homes, .results = homes, .most = 60, .seed = 8});
        EXPECT_GT(test::copies_in(plan.schedule), 20);
        EXPECT_EQ(plan.schedule.homes.on_host.empty(), !homes);
        const Result<RunReport> report =
            run_plan(plan, model_path(GetParam()), {.steps = 3, .verify = true}, cpu());
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->verified) << report->mismatch;
        EXPECT_EQ(report->measured_peak, plan.schedule.peak);
        EXPECT_EQ(report->measured_host_peak, plan.schedule.host_peak);
        EXPECT_LT(report->slab.value, 2 * plan.schedule.host_peak->value);
        if (homes) continue;
        // Runs the plan a second time, without an arena: each tensor is then allocated from the system.
        const Result<RunReport> plain =
            run_plan(plan, model_path(GetParam()), {.steps = 2, .verify = true, .arena = false}, cpu());
        ASSERT_TRUE(plain) << plain.error().message;
        EXPECT_TRUE(plain->verified) << plain->mismatch;
    }
}

INSTANTIATE_TEST_SUITE_P(Small, CopiesOfModels,
                         ::testing::Values("mlp_scripted", "resnet_scripted", "gpt_scripted", "unet_traced",
                                           "translator_traced", "lstm_scripted", "inplace_traced"),
                         [](const auto& info) { return info.param; });

class CopiesOfOneStep : public ::testing::Test {
  protected:
    void SetUp() override { take(copying_plan(captured("gpt_scripted"), {.most = 40, .seed = 6})); }
    void take(Plan plan) {
        plan_ = std::move(plan);
        model_ = load_model(model_path("gpt_scripted")).take();
        executor_.emplace(Executor::create(plan_.graph, model_.tensors, "the model", cpu()).take());
        inputs_ = draw_inputs(test::model_inputs("gpt_scripted"), 11);
    }
    std::vector<at::Tensor> tensors() const {
        std::vector<at::Tensor> tensors;
        for (const NamedTensor& named : model_.tensors) tensors.push_back(named.tensor);
        return tensors;
    }
    std::string refusal_of_halves() {
        const Result<Forwarded> forward = executor_->forward(plan_.schedule.steps, inputs_);
        return forward ? "" : forward.error().message;
    }

    Plan plan_;
    Model model_;
    std::optional<Executor> executor_;
    std::vector<at::Tensor> inputs_;
};

TEST_F(CopiesOfOneStep, TakeThePredictedTimeOnTheLinks) {
    const auto transfers = executor_->transfers_of(plan_.schedule.steps).take();
    ASSERT_TRUE(transfers);
    LinkClock clock(plan_.graph, transfers->transfers, plan_.graph.device->links);
    ASSERT_TRUE(executor_->run(plan_.schedule.steps, inputs_, {.clock = &clock}));
    EXPECT_NEAR(double(clock.now().value), double(plan_.schedule.time.value),
                0.01 * double(plan_.schedule.time.value));
}

TEST_F(CopiesOfOneStep, AStepLeavesParametersWholeAndInTheCallersTensors) {
    const std::vector<at::Tensor> before = copies_of(tensors());
    std::vector<const c10::StorageImpl*> storages;
    for (const at::Tensor& tensor : tensors()) storages.push_back(tensor.storage().unsafeGetStorageImpl());
    ASSERT_TRUE(executor_->run(plan_.schedule.steps, inputs_, {.arena = true}));
    EXPECT_TRUE(identical(tensors(), before));
    for (std::size_t i = 0; i < storages.size(); ++i)
        EXPECT_EQ(tensors()[i].storage().unsafeGetStorageImpl(), storages[i]);
}

TEST_F(CopiesOfOneStep, ResidentsThatLiveOnTheHostAreWholeBetweenSteps) {
    take(copying_plan(captured("gpt_scripted"), {.made = false, .homes = true, .most = 40, .seed = 6}));
    ASSERT_GT(plan_.schedule.homes.on_host.size(), 4u);
    const std::vector<at::Tensor> before = copies_of(tensors());
    const std::int64_t alive = cpu().alive_bytes();
    {
        const auto step =
            executor_->run(plan_.schedule.steps, inputs_, {.gradient_seed = 1}, plan_.schedule.homes);
        ASSERT_TRUE(step) << step.error().message;
        EXPECT_EQ(step->peak, plan_.schedule.peak);
    }
    EXPECT_TRUE(identical(tensors(), before));
    EXPECT_LT(cpu().alive_bytes(), alive) << "they are not on the device";
    executor_.reset();
    EXPECT_TRUE(identical(tensors(), before)) << "without the executor too";
}

TEST_F(CopiesOfOneStep, AStepThatFailsLeavesParametersWhole) {
    const std::vector<at::Tensor> before = copies_of(tensors());
    Plan broken = plan_;
    OpId last;
    for (const Step& step : broken.schedule.steps) {  // finds an op that runs while a parameter is offloaded
        if (step.kind == StepKind::free && broken.graph.tensors[step.tensor()].kind == TensorKind::parameter)
            last = OpId(0);
        else if (step.runs() && last.valid() && broken.graph.ops[step.op()].outputs.size() == 1) {
            last = step.op();
            break;
        }
    }
    ASSERT_TRUE(last.valid());
    broken.graph.tensors[broken.graph.ops[last].outputs.front()].bytes += Bytes(64);
    Executor executor = Executor::create(broken.graph, model_.tensors, "the model", cpu()).take();
    const Result<Replayed> failed = executor.run(broken.schedule.steps, inputs_);
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("when it was captured"));
    EXPECT_TRUE(identical(tensors(), before));
}

TEST_F(CopiesOfOneStep, GoThroughAPlanFile) {
    const auto path =
        std::filesystem::temp_directory_path() / ("copies" + std::to_string(getpid()) + ".plan");
    const std::string text = graph_text(plan_.graph);
    Schedule schedule = plan_.schedule;
    schedule.graph_sha256 = sha256(text);
    ASSERT_TRUE(write_plan(text, schedule, path));
    const Result<Plan> plan = read_plan_or_schedule(path);
    std::filesystem::remove(path);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->schedule.steps, plan_.schedule.steps);
    test::expect_identical("gpt_scripted", *plan);
}

TEST_F(CopiesOfOneStep, HalvesAreThoseOfThePlainStep) {
    take(copying_plan(captured("gpt_scripted"), {.residents = false, .most = 40, .seed = 6}));
    ASSERT_GT(test::copies_in(plan_.schedule), 20);
    const std::vector<Step> plain = lower(flatten(plan_.graph), keep_all_sequence(flatten(plan_.graph)));
    cpu().seed_generator(3);
    Result<Forwarded> expected = executor_->forward(plain, inputs_);
    ASSERT_TRUE(expected) << expected.error().message;
    std::vector<at::Tensor> given;
    for (const at::Tensor& output : expected->outputs) given.push_back(at::rand(output.sizes()));
    const Replayed reference = executor_->backward(expected->number, given).take();
    for (const Haste haste : {Haste::at_once, Haste::when_waited_for, Haste::at_random}) {
        executor_->use(adversarial(haste));
        cpu().seed_generator(3);
        const Result<Forwarded> first = executor_->forward(plan_.schedule.steps, inputs_);
        ASSERT_TRUE(first) << first.error().message;
        EXPECT_TRUE(identical(first->outputs, expected->outputs));
        cpu().seed_generator(3);
        const Result<Forwarded> second = executor_->forward(plan_.schedule.steps, inputs_);
        ASSERT_TRUE(second) << "two forwards are open";
        for (const std::uint64_t number : {second->number, first->number}) {
            const Result<Replayed> backward = executor_->backward(number, given);
            ASSERT_TRUE(backward) << backward.error().message;
            EXPECT_TRUE(identical(backward->gradients, reference.gradients));
        }
        const Result<Forwarded> dropped = executor_->forward(plan_.schedule.steps, inputs_);
        ASSERT_TRUE(dropped);
        executor_->drop(dropped->number);
    }
}

/// Between forward and backward, the caller may read its parameters. So a plan for a step in two halves must
/// not offload them.
TEST_F(CopiesOfOneStep, HalvesRefuseToMoveWhatTheCallerMayLookAt) {
    EXPECT_THAT(refusal_of_halves(), AllOf(HasSubstr("leaves the device and does not live on the host"),
                                           HasSubstr("in training")));
}

TEST_F(CopiesOfOneStep, GradientsThatEndOnTheHostHoldUntilTheNextStep) {
    const std::vector<Step> plain = lower(flatten(plan_.graph), keep_all_sequence(flatten(plan_.graph)));
    cpu().seed_generator(3);
    const std::vector<at::Tensor> expected =
        copies_of(executor_->run(plain, inputs_, {.gradient_seed = 4}).take().gradients);
    take(
        copying_plan(captured("gpt_scripted"), {.residents = false, .results = true, .most = 60, .seed = 6}));
    ASSERT_GT(plan_.schedule.homes.on_host.size(), 4u);
    std::int64_t there = 0;
    for (TensorId t : plan_.schedule.homes.on_host) there += plan_.graph.tensors[t].bytes.value;
    std::vector<at::Tensor> gradients;
    for (const Haste haste : {Haste::at_once, Haste::when_waited_for, Haste::at_random}) {
        executor_->use(adversarial(haste));
        gradients.clear();
        cpu().seed_generator(3);
        const std::int64_t alive = cpu().alive_bytes();
        Result<Replayed> step =
            executor_->run(plan_.schedule.steps, inputs_, {.gradient_seed = 4}, plan_.schedule.homes);
        ASSERT_TRUE(step) << step.error().message;
        EXPECT_EQ(step->host_peak, plan_.schedule.host_peak);
        gradients = std::move(step->gradients);
        step->outputs.clear();
        EXPECT_TRUE(identical(gradients, expected));
        std::int64_t all = 0;
        for (const at::Tensor& gradient : gradients)
            all += static_cast<std::int64_t>(gradient.storage().nbytes());
        EXPECT_EQ(cpu().alive_bytes() - alive, all - there) << "those of the host are not on the device";
    }
    executor_.reset();
    EXPECT_TRUE(identical(gradients, expected)) << "without the executor too";
}

TEST_F(CopiesOfOneStep, OnTheHostOpsOnlyUpdate) {
    const OpId op(0);
    std::vector<Step> steps;
    for (TensorId t : plan_.graph.ops[op].inputs) steps.push_back(Step::offload(t));
    steps.push_back(Step::run_host(op));
    const Result<Replayed> step = executor_->run(steps, inputs_);
    ASSERT_FALSE(step);
    EXPECT_THAT(step.error().message, AllOf(HasSubstr("makes tensors"), HasSubstr("runs on the host")));
}

/// Trains with AdamW; most updates run on the host, at the same time as the rest of the step.
class UpdatesOnTheHost : public ::testing::Test {
  protected:
    static const Plan& plan() {
        static const Plan made = [] {
            CaptureOptions options = test::quick("gpt_scripted");
            options.optimizer = *Optimizer::from("adamw", "lr=0.01");
            Plan plan{.graph = capture(model_path("gpt_scripted"), options, cpu()).take(), .schedule = {}};
            // Times decide how many updates run on the host, so the test sets times that are the same on each
            // machine.
            for (Op& op : plan.graph.ops) op.time = op.host_time ? Nanoseconds(20'000) : Nanoseconds(5'000);
            for (Op& op : plan.graph.ops)
                if (op.host_time) op.host_time = op.time;
            const Links links{.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9};
            const Result<Outcome> outcome =
                solve(plan.graph, {.solver = "offmate",
                                   .budget = *parse_budget("60%"),
                                   .limits = {.time = std::chrono::seconds(30)},
                                   .copies = {.what = Offload::all, .links = links}});
            EXPECT_TRUE(outcome && outcome->schedule());
            if (outcome && outcome->schedule()) plan.schedule = *outcome->schedule();
            return plan;
        }();
        return made;
    }
    static long on_host() {
        const auto& steps = plan().schedule.steps;
        return std::count_if(steps.begin(), steps.end(),
                             [](const Step& step) { return step.kind == StepKind::run_host; });
    }
};

TEST_F(UpdatesOnTheHost, AreThoseOfTheOriginalWheneverTheyRun) {
    ASSERT_GT(on_host(), 5);
    const StepLinks threads;
    for (const StepLinks& links :
         {threads, adversarial(Haste::when_waited_for), adversarial(Haste::at_random)}) {
        const Result<RunReport> report =
            run_plan(plan(), model_path("gpt_scripted"), {.steps = 3, .verify = true, .links = links}, cpu());
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->verified) << report->mismatch;
        EXPECT_EQ(report->measured_peak, plan().schedule.peak);
        EXPECT_EQ(report->measured_host_peak, plan().schedule.host_peak);
        EXPECT_EQ(report->host_runs, static_cast<std::size_t>(on_host()));
        EXPECT_FALSE(report->updates_on_host) << "on the CPU the kernels are the same";
    }
}

TEST_F(UpdatesOnTheHost, TakeThePredictedTime) {
    const Model model = load_model(model_path("gpt_scripted")).take();
    Executor executor = Executor::create(plan().graph, model, cpu()).take();
    const auto transfers = executor.transfers_of(plan().schedule.steps, plan().schedule.homes).take();
    LinkClock clock(plan().graph, transfers->transfers, *plan().schedule.links);
    const std::vector<at::Tensor> inputs = draw_inputs(test::model_inputs("gpt_scripted"), 1);
    ASSERT_FALSE(plan().schedule.homes.cyclic) << "the executor ends each step";
    ASSERT_TRUE(executor.run(plan().schedule.steps, inputs, {.clock = &clock}, plan().schedule.homes));
    EXPECT_EQ(clock.now(), plan().schedule.time);
}

}  // namespace
}  // namespace rematlas
