// Tests steps in an arena of a CUDA device. On the software stand-in for a GPU (tests/simgpu), the tests also
// check that no necessary wait is missing.
#include <ATen/ops/empty.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/executor.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/gpu.h"
#include "tests/simgpu/control.h"

namespace rematlas {
namespace {

using test::stand_in;

/// Runs a schedule with reruns on two copies of a model, with an arena and without.
class GpuArena : public test::Gpu, public ::testing::WithParamInterface<const char*> {
  protected:
    struct Bound {
        Model model;
        Executor executor;
    };

    void SetUp() override {
        Gpu::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        static std::map<std::string, Graph> graphs;
        const std::string name = GetParam();
        if (!graphs.contains(name))
            graphs.emplace(name, capture(test::model_path(name), test::quick(name), device()).take());
        const Graph& graph = graphs.at(name);
        plan_ = test::plan_of(graph, test::shuffled_with_reruns(flatten(graph), 0.3, false, 5));
        const auto bind = [&] {
            Model model = load_model(test::model_path(name), device().device()).take();
            Executor executor = Executor::create(graph, model, device()).take();
            return Bound{std::move(model), std::move(executor)};
        };
        ours_.emplace(bind());
        plain_.emplace(bind());
        std::vector<InputSpec> specs;
        for (const auto& input : ours_->executor.tape().inputs) specs.push_back(input.first);
        for (at::Tensor& input : draw_inputs(specs, 3)) inputs_.push_back(input.to(device().device()));
        device().trim();
    }
    void TearDown() override {
        if (const auto stop = stand_in<decltype(simgpu_stop_at_races)>("simgpu_stop_at_races")) stop(1);
    }

    Replayed step(Bound& bound, bool arena) {
        device().seed_generator(9);
        Result<Replayed> step =
            bound.executor.run(plan_.schedule.steps, inputs_, {.gradient_seed = 4, .arena = arena});
        EXPECT_TRUE(step) << step.error().message;
        return step ? step.take() : Replayed();
    }
    Replayed in_arena() { return step(*ours_, true); }
    Replayed plainly() { return step(*plain_, false); }
    void expect_as_plain(const Replayed& step) {
        const Replayed expected = plainly();
        EXPECT_TRUE(identical(expected.outputs, step.outputs));
        EXPECT_TRUE(identical(expected.gradients, step.gradients));
        EXPECT_EQ(step.peak, expected.peak);
    }
    c10::Stream another_stream() const {
        return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getNewStream(device().device());
    }

    static constexpr long long capacity_ = 80ll << 30;
    Plan plan_;
    std::optional<Bound> ours_, plain_;  ///< each with its own model, because a step changes the buffers
    std::vector<at::Tensor> inputs_;
};

TEST_P(GpuArena, ReservedBytesAreThePlansFromTheSecondStepOn) {
    const std::int64_t before = device().reserved_bytes(), alive = device().alive_bytes();
    in_arena(), plainly();
    device().trim();
    EXPECT_EQ(device().reserved_bytes(), before);
    for (int again = 0; again < 3; ++again) {
        const Replayed step = in_arena();
        EXPECT_EQ(step.memory.system_allocations, 0);
        EXPECT_EQ(step.memory.deviations, 0);
        EXPECT_GT(step.memory.arena_bytes, 0);
        EXPECT_EQ(step.peak, plan_.schedule.peak);
        EXPECT_EQ(device().reserved_bytes(), before + step.memory.arena_bytes);
    }
    EXPECT_EQ(device().alive_bytes(), alive);
    ours_.reset();
    EXPECT_EQ(device().reserved_bytes(), before) << "the arena goes with its step";
}

TEST_P(GpuArena, StepsAreThePlainOnes) {
    for (int again = 0; again < 4; ++again) expect_as_plain(in_arena());
}

TEST_P(GpuArena, ResultsThatAreHeldAreNotOverwritten) {
    in_arena();
    const Replayed held = in_arena();
    const std::vector<at::Tensor> gradients = copies_of(held.gradients);
    const Replayed next = in_arena();
    EXPECT_GT(next.memory.system_allocations, 0);
    for (const at::Tensor& gradient : next.gradients)
        if (gradient.defined()) at::Tensor(gradient).zero_();
    EXPECT_TRUE(identical(gradients, held.gradients));
    ours_.reset();
    EXPECT_TRUE(identical(gradients, held.gradients));
}

TEST_P(GpuArena, AnotherStreamHasAnArenaOfItsOwn) {
    in_arena(), plainly();
    expect_as_plain(in_arena());
    const c10::StreamGuard other(another_stream());
    for (at::Tensor& input : inputs_) input = input.clone();
    for (int again = 0; again < 3; ++again) expect_as_plain(in_arena());
}

/// A copy on a stream of the caller still reads a gradient whose memory was released. The next step writes to
/// this memory, so it must wait for the copy.
TEST_P(GpuArena, StreamsThatAreRecordedAreWaitedFor) {
    const auto races = stand_in<decltype(simgpu_races)>("simgpu_races");
    if (!races) GTEST_SKIP() << "asks the stand-in for a GPU";
    stand_in<decltype(simgpu_stop_at_races)>("simgpu_stop_at_races")(0);
    const c10::Stream side = another_stream();
    for (const bool recorded : {true, false}) {
        ours_->executor = Executor::create(plan_.graph, ours_->model, device()).take();
        in_arena(), in_arena();
        device().synchronize();
        races();
        std::vector<at::Tensor> copies;
        {
            const Replayed step = in_arena();
            const c10::StreamGuard on_side(side);
            for (const at::Tensor& gradient : step.gradients) {
                if (!gradient.defined()) continue;
                if (recorded) gradient.record_stream(side);
                copies.push_back(gradient.clone());
            }
        }
        in_arena();
        device().synchronize();
        if (recorded)
            EXPECT_EQ(races(), 0);
        else
            EXPECT_GT(races(), 0) << "the control";
    }
}

TEST_P(GpuArena, GivesWayBetweenSteps) {
    const auto set_memory = stand_in<decltype(simgpu_set_memory)>("simgpu_set_memory");
    const auto used = stand_in<decltype(simgpu_used)>("simgpu_used");
    if (!set_memory) GTEST_SKIP() << "sets the memory of the stand-in";
    in_arena(), plainly(), plainly();
    expect_as_plain(in_arena());
    const std::int64_t arena = in_arena().memory.arena_bytes;
    // The allocator takes memory in segments of 20 MiB. The device has too little memory for another segment.
    // The missing bytes are half the size of the arena.
    constexpr std::int64_t segment = std::int64_t{20} << 20;
    const auto allocate = [&] { return at::empty({segment}, floats().dtype(c10::ScalarType::Byte)); };
    device().trim();
    const long long before = capacity_;
    set_memory(used(0) + segment - arena / 2);
    allocate();
    set_memory(before);
    device().trim();
    EXPECT_EQ(in_arena().memory.arena_bytes, arena) << "the next step takes it again";
    expect_as_plain(in_arena());
    const Replayed held = in_arena();
    device().trim();
    set_memory(used(0) + segment - arena / 2);
    EXPECT_THROW(allocate(), c10::OutOfMemoryError) << "results are held of it";
    set_memory(before);
}

INSTANTIATE_TEST_SUITE_P(SmallModels, GpuArena, ::testing::Values("gpt_scripted", "resnet_scripted"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rematlas
