// Tests the arena behind libtorch's allocator: planned addresses, steps that deviate from the plan, and
// results that are still held.
#include "runtime/allocator/step_memory.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/model/input_spec.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/executor.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

c10::DataPtr allocate(std::size_t bytes) {
    return c10::GetAllocator(c10::DeviceType::CPU)->allocate(bytes);
}

/// Makes three requests. The plan puts the second at the address of the first. Returns the memory of the
/// third request.
c10::DataPtr small_step(StepMemory& memory, std::size_t second = 3000, bool finish = true) {
    memory.begin_step(1);
    c10::DataPtr result;
    {
        const StepMemory::Scope scope(&memory);
        { const c10::DataPtr one = allocate(2000); }
        { const c10::DataPtr two = allocate(second); }
        if (finish) result = allocate(500);
    }
    memory.end_step();
    return result;
}

TEST(StepMemory, TheSecondStepIsServedWithoutTheSystem) {
    StepMemory memory(host_memory());
    small_step(memory);
    EXPECT_EQ(memory.report().system_allocations, 3);
    EXPECT_GT(memory.report().arena_bytes, 0);
    const std::int64_t before = CountingAllocator::system_allocations(), alive = CountingAllocator::alive();
    const void* place = small_step(memory).get();
    EXPECT_EQ(small_step(memory).get(), place);
    EXPECT_EQ(CountingAllocator::system_allocations(), before);
    EXPECT_EQ(CountingAllocator::alive(), alive);
    EXPECT_EQ(memory.report().system_allocations, 0);
    EXPECT_EQ(memory.report().deviations, 0);
}

TEST(StepMemory, OutsideScopesTheSystemServes) {
    StepMemory memory(host_memory());
    small_step(memory);
    memory.begin_step(1);
    const std::int64_t before = CountingAllocator::system_allocations();
    { const c10::DataPtr outside = allocate(2000); }
    std::thread([] { const c10::DataPtr elsewhere = allocate(2000); }).join();
    EXPECT_EQ(CountingAllocator::system_allocations(), before + 2);
}

TEST(StepMemory, OtherRequestsAreServedByTheSystemAndPlannedTheNextTime) {
    StepMemory memory(host_memory());
    small_step(memory);
    small_step(memory, 4000);
    EXPECT_EQ(memory.report().deviations, 1);
    EXPECT_EQ(memory.report().system_allocations, 2) << "from the deviation on";
    small_step(memory, 4000);
    EXPECT_EQ(memory.report().system_allocations, 3) << "recorded again";
    small_step(memory, 4000);
    EXPECT_EQ(memory.report().system_allocations, 0);
    EXPECT_EQ(memory.report().deviations, 1);
}

TEST(StepMemory, AStepWithoutRoomForItsArenaIsServedByTheSystem) {
    bool full = true;
    ArenaMemory scarce = host_memory();
    scarce.reserve = [&full](std::size_t bytes) { return full ? nullptr : host_memory().reserve(bytes); };
    StepMemory memory(scarce);
    small_step(memory);
    for (int again = 0; again < 2; ++again) {
        small_step(memory);
        EXPECT_EQ(memory.report().system_allocations, 3);
        EXPECT_EQ(memory.report().arena_bytes, 0);
        EXPECT_EQ(memory.report().deviations, 0);
    }
    full = false;
    small_step(memory);
    EXPECT_EQ(memory.report().system_allocations, 0);
    EXPECT_GT(memory.report().arena_bytes, 0);
}

/// Returns host memory that claims to be on `device`. `reserved` counts the pieces that are reserved now.
ArenaMemory counted_memory(int& reserved, int device = 7) {
    ArenaMemory counted = host_memory();
    counted.device = device;
    counted.reserve = [&](std::size_t bytes) { return ++reserved, host_memory().reserve(bytes); };
    counted.release = [&](void* memory, std::size_t bytes) {
        --reserved, host_memory().release(memory, bytes);
    };
    return counted;
}

std::shared_ptr<Arena> arena_of_one(std::int64_t bytes, const ArenaMemory& memory) {
    const std::vector<Request> requests = {{.bytes = bytes, .taken = 0}};
    return Arena::create(requests, plan_requests(requests), memory);
}

/// Runs a step whose only request is not released. Returns the memory of the request.
void* step_of(const std::shared_ptr<Arena>& arena, std::size_t bytes) {
    EXPECT_TRUE(arena->begin_step());
    void* taken = arena->take(bytes);
    EXPECT_TRUE(taken);
    if (taken) std::memset(taken, 1, bytes);
    arena->end_step();
    return taken;
}

TEST(StepMemory, ArenasOfStepsThatAlternateShareOneMemory) {
    int reserved = 0;
    const ArenaMemory memory = counted_memory(reserved);
    const std::shared_ptr<Arena> large = arena_of_one(1 << 20, memory), small = arena_of_one(5000, memory);
    for (int round = 0; round < 3; ++round) {
        Arena::give_back(step_of(small, 5000));
        EXPECT_EQ(reserved, 1);
        Arena::give_back(step_of(large, 1 << 20));
        EXPECT_EQ(reserved, 1);
    }
    void* held = step_of(large, 1 << 20);
    Arena::give_back(step_of(small, 5000));
    EXPECT_EQ(reserved, 2) << "what is held stays where it is";
    EXPECT_EQ(static_cast<char*>(held)[(1 << 20) - 1], 1);
    Arena::give_back(held);
    EXPECT_TRUE(Arena::give_way(7));
    EXPECT_EQ(reserved, 0);
    Arena::retire(large), Arena::retire(small);
}

TEST(StepMemory, AStepThatIsLoggedFindsTheMemoryOfIdleArenasFree) {
    int reserved = 0;
    const ArenaMemory memory = counted_memory(reserved, the_host);
    StepMemory first(memory), second(memory);
    for (int step = 0; step < 2; ++step) small_step(first);
    EXPECT_EQ(reserved, 1);
    small_step(second);
    EXPECT_EQ(reserved, 0);
    small_step(second);
    small_step(first);
    EXPECT_EQ(reserved, 1);
    EXPECT_EQ(first.report().system_allocations, 0);
}

TEST(StepMemory, ArenasGiveWayBetweenStepsWhereNothingIsHeld) {
    int reserved = 0;
    const ArenaMemory counted = counted_memory(reserved);
    const std::vector<Request> requests = {{.bytes = 1000, .taken = 0, .returned = 1},
                                           {.bytes = 500, .taken = 2}};
    const std::shared_ptr<Arena> arena = Arena::create(requests, plan_requests(requests), counted);
    EXPECT_FALSE(Arena::give_way(7)) << "it has no memory yet";
    ASSERT_TRUE(arena->begin_step());
    EXPECT_FALSE(Arena::give_way(7)) << "it is in a step";
    void* first = arena->take(1000);
    ASSERT_TRUE(first);
    Arena::give_back(first);
    void* result = arena->take(500);
    ASSERT_TRUE(result);
    arena->end_step();
    EXPECT_FALSE(Arena::give_way(7)) << "a result is held";
    EXPECT_EQ(reserved, 1);
    Arena::give_back(result);
    EXPECT_FALSE(Arena::give_way(6)) << "of another device";
    EXPECT_TRUE(Arena::give_way(7));
    EXPECT_EQ(reserved, 0);
    EXPECT_FALSE(Arena::holds(result));
    ASSERT_TRUE(arena->begin_step()) << "it takes memory anew";
    first = arena->take(1000);
    EXPECT_TRUE(first);
    Arena::give_back(first);
    Arena::retire(arena);
}

TEST(StepMemory, FewerRequestsAreADeviationToo) {
    StepMemory memory(host_memory());
    small_step(memory);
    small_step(memory, 3000, /*finish=*/false);
    EXPECT_EQ(memory.report().deviations, 1);
}

TEST(StepMemory, AStepThatIsNeverTheSameStaysCorrect) {
    StepMemory memory(host_memory());
    for (std::size_t i = 0; i < 20; ++i) {
        const c10::DataPtr result = small_step(memory, 1000 + 100 * i);
        std::memset(result.get(), 1, 500);
    }
    EXPECT_GT(memory.report().deviations, 0);
}

TEST(StepMemory, WhatIsHeldIsNotHandedOutAgain) {
    StepMemory memory(host_memory());
    small_step(memory);
    c10::DataPtr held = small_step(memory);
    std::memset(held.get(), 42, 500);
    memory.begin_step(1);
    {
        const StepMemory::Scope scope(&memory);
        // All three requests are held at the same time, although the plan puts the second at the address of
        // the first.
        const c10::DataPtr one = allocate(2000), two = allocate(3000), three = allocate(500);
        std::memset(one.get(), 1, 2000);
        std::memset(two.get(), 2, 3000);
        std::memset(three.get(), 3, 500);
        const auto is = [](const c10::DataPtr& data, std::size_t bytes, char value) {
            const char* at = static_cast<const char*>(data.get());
            return std::all_of(at, at + bytes, [&](char c) { return c == value; });
        };
        EXPECT_TRUE(is(held, 500, 42));
        EXPECT_TRUE(is(one, 2000, 1));
        EXPECT_TRUE(is(two, 3000, 2));
        EXPECT_TRUE(is(three, 500, 3));
    }
    memory.end_step();
}

TEST(StepMemory, ResultsOutliveTheirStepMemory) {
    c10::DataPtr held;
    const std::int64_t alive = CountingAllocator::alive();
    {
        StepMemory memory(host_memory());
        small_step(memory);
        held = small_step(memory);
    }
    std::memset(held.get(), 7, 500);
    EXPECT_EQ(CountingAllocator::alive(), alive + 500);
    std::thread([&] { held.clear(); }).join();
    EXPECT_EQ(CountingAllocator::alive(), alive);
}

TEST(StepMemory, RawRequestsAreServedToo) {
    StepMemory memory(host_memory());
    c10::Allocator* allocator = c10::GetAllocator(c10::DeviceType::CPU);
    const auto step = [&] {
        memory.begin_step(1);
        const StepMemory::Scope scope(&memory);
        void* raw = allocator->raw_allocate(100);
        allocator->raw_deallocate(raw);
        memory.end_step();
    };
    step();
    step();
    EXPECT_EQ(memory.report().system_allocations, 0);
}

/// The heap must not fragment: eviction frees and makes tensors of a few sizes again and again, between
/// tensors that live long.
TEST(CountingAllocator, AFreedBlockServesTheNextTensorOfItsSize) {
    std::vector<c10::DataPtr> kept;
    for (const std::size_t bytes : {2000, 100'000, 8 << 20}) {
        c10::DataPtr block = allocate(bytes);
        kept.push_back(allocate(64));
        const void* const place = block.get();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0);
        block.clear();
        block = allocate(bytes);
        EXPECT_EQ(block.get(), place) << bytes;
        kept.push_back(std::move(block));
    }
}

/// A captured model with its state and an executor.
struct BoundStep {
    Model model;
    Executor executor;

    explicit BoundStep(const Graph& graph, const char* name)
        : model(load_model(test::model_path(name), test::cpu().device()).take()),
          executor(Executor::create(graph, model, test::cpu()).take()) {}
};

class ArenaReplay : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const Graph& graph = test::captured(GetParam());
        ASSERT_FALSE(graph.ops.empty());
        bound_.emplace(graph, GetParam());
        plain_.emplace(graph, GetParam());
        steps_ = lower(flatten(graph), test::shuffled_with_reruns(flatten(graph), 0.3, false, 5));
        std::vector<InputSpec> specs;
        for (const auto& input : bound_->executor.tape().inputs) specs.push_back(input.first);
        inputs_ = draw_inputs(specs, 3);
    }
    Replayed replay(BoundStep& bound, bool arena) {
        test::cpu().seed_generator(9);
        Result<Replayed> step = bound.executor.run(steps_, inputs_, {.gradient_seed = 4, .arena = arena});
        EXPECT_TRUE(step) << step.error().message;
        return step ? step.take() : Replayed();
    }
    Replayed replay() { return replay(*bound_, true); }
    Replayed plain() { return replay(*plain_, false); }

    std::optional<BoundStep> bound_, plain_;  ///< each with its own model, because a step changes the buffers
    std::vector<Step> steps_;
    std::vector<at::Tensor> inputs_;
};

TEST_P(ArenaReplay, StepsAfterTheFirstTakeNothingFromTheSystemAndStayIdentical) {
    replay();
    plain();
    for (int i = 0; i < 3; ++i) {
        const Replayed expected = plain();
        const std::int64_t before = CountingAllocator::system_allocations();
        const Replayed step = replay();
        EXPECT_EQ(CountingAllocator::system_allocations(), before);
        EXPECT_EQ(step.memory.system_allocations, 0);
        EXPECT_EQ(step.memory.deviations, 0);
        EXPECT_GT(step.memory.arena_bytes, 0);
        EXPECT_EQ(step.peak, expected.peak);
        EXPECT_TRUE(identical(expected.outputs, step.outputs));
        EXPECT_TRUE(identical(expected.gradients, step.gradients));
    }
}

TEST_P(ArenaReplay, ResultsThatAreHeldAreNotOverwritten) {
    replay();
    const Replayed held = replay();
    const std::vector<at::Tensor> outputs = copies_of(held.outputs), gradients = copies_of(held.gradients);
    const Replayed next = replay();
    EXPECT_GT(next.memory.system_allocations, 0);
    EXPECT_EQ(next.memory.deviations, 0);
    for (const at::Tensor& gradient : next.gradients)
        if (gradient.defined()) at::Tensor(gradient).zero_();
    EXPECT_TRUE(identical(outputs, held.outputs));
    EXPECT_TRUE(identical(gradients, held.gradients));
    bound_.reset();
    EXPECT_TRUE(identical(gradients, held.gradients));
}

INSTANTIATE_TEST_SUITE_P(SmallModels, ArenaReplay,
                         ::testing::Values("mlp_scripted", "mlp_traced", "resnet_scripted", "resnet_traced",
                                           "gpt_scripted", "gpt_traced", "unet_scripted", "unet_traced",
                                           "translator_scripted", "translator_traced", "lstm_scripted",
                                           "lstm_traced", "inplace_scripted", "inplace_traced"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rematlas
