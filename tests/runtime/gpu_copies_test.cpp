// Tests copies that run at the same time as work of a CUDA device. On the software stand-in for a GPU
// (tests/simgpu), the tests also check the order and the overlap of copies and work.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/device/copies.h"
#include "runtime/dispatch/tensor_look.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/executor.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/copying_plan.h"
#include "tests/runtime/gpu.h"
#include "tests/simgpu/control.h"

namespace rematlas {
namespace {

using test::stand_in;

class GpuCopies : public test::Gpu {
  protected:
    static constexpr std::int64_t size = 256;
    static constexpr std::size_t bytes = size * size * sizeof(float);

    void SetUp() override {
        Gpu::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        copies_ = open_copies(device()).take();
        slab_ = open_slab(device(), 3 * bytes).take();
    }
    void TearDown() override {
        if (const auto stop = stand_in<decltype(simgpu_stop_at_races)>("simgpu_stop_at_races")) stop(1);
    }

    float* slot_of_slab(int slot) const { return static_cast<float*>(slab_->data()) + slot * size * size; }

    /// Streams weights through two slots, as offloading does: copies the weights in, multiplies, and copies
    /// the products out. Returns the first number of each product.
    std::vector<float> stream_through_two_slots(int steps) {
        CopyQueues& copies = *copies_;
        std::fill_n(slot_of_slab(0), size * size, 0.5f);
        const at::Tensor input = at::full({size, size}, 2, floats());
        const at::Tensor weights[2] = {at::empty({size, size}, floats()), at::empty({size, size}, floats())};
        const at::Tensor products[2] = {at::empty({size, size}, floats()), at::empty({size, size}, floats())};
        const Mark begun = copies.mark(CopyQueue::compute);
        copies.wait(CopyQueue::in, begun);
        copies.release(begun);
        std::optional<Mark> used[2], gone[2];
        std::vector<float> arrived;
        for (int step = 0; step < steps; ++step) {
            const int slot = step % 2;
            if (used[slot]) copies.wait(CopyQueue::in, *used[slot]), copies.release(*used[slot]);
            copies.copy_in(weights[slot].mutable_data_ptr(), slot_of_slab(0), bytes);
            const Mark there = copies.mark(CopyQueue::in);
            copies.wait(CopyQueue::compute, there);
            copies.release(there);
            if (gone[slot]) copies.wait(CopyQueue::compute, *gone[slot]), copies.release(*gone[slot]);
            at::mm_out(const_cast<at::Tensor&>(products[slot]), input, weights[slot]);
            used[slot] = copies.mark(CopyQueue::compute);
            copies.wait(CopyQueue::out, *used[slot]);
            copies.copy_out(slot_of_slab(1 + slot), products[slot].const_data_ptr(), bytes);
            gone[slot] = copies.mark(CopyQueue::out);
            if (slot == 1) {
                copies.synchronize(CopyQueue::out);
                arrived.push_back(*slot_of_slab(1)), arrived.push_back(*slot_of_slab(2));
            }
        }
        copies.synchronize(CopyQueue::out), copies.synchronize(CopyQueue::in),
            copies.synchronize(CopyQueue::compute);
        for (int slot : {0, 1}) copies.release(*used[slot]), copies.release(*gone[slot]);
        return arrived;
    }

    std::unique_ptr<CopyQueues> copies_;
    std::unique_ptr<PinnedSlab> slab_;
};

TEST_F(GpuCopies, WhatTheyBringIsWhatIsComputedWith) {
    EXPECT_EQ(stream_through_two_slots(6), std::vector<float>(6, float(size)));
}

TEST_F(GpuCopies, EveryWaitIsNeeded) {
    const auto drop = stand_in<decltype(simgpu_drop_wait)>("simgpu_drop_wait");
    const auto waits = stand_in<decltype(simgpu_waits)>("simgpu_waits");
    const auto races = stand_in<decltype(simgpu_races)>("simgpu_races");
    if (!drop) GTEST_SKIP() << "asks the stand-in for a GPU";
    stand_in<decltype(simgpu_stop_at_races)>("simgpu_stop_at_races")(0);
    const long before = waits();
    stream_through_two_slots(4);
    const long needed = waits() - before;
    EXPECT_EQ(races(), 0);
    ASSERT_GE(needed, 12);
    // Some waits can be left out without a race. The first wait orders the copies behind earlier users of the
    // memory, and here there are none. After the second step, the host has already waited for some of the
    // work, so further waits for this work are not needed.
    std::vector<long> unnoticed;
    for (long left_out = 1; left_out <= needed; ++left_out) {
        drop(left_out);
        stream_through_two_slots(4);
        if (races() == 0) unnoticed.push_back(left_out);
    }
    EXPECT_LE(unnoticed.size(), 5u);
    for (const long wait : {2L, 3L, 4L, 5L})
        EXPECT_EQ(std::count(unnoticed.begin(), unnoticed.end(), wait), 0) << wait;
}

/// Runs whole steps of a schedule, and drops a different wait in each run. As soon as memory of the device or
/// of the slab (pinned host memory) becomes free, a kernel overwrites this memory. The next step uses all
/// memory again.
TEST_F(GpuCopies, WaitsOfAStepAreNeeded) {
    const auto drop = stand_in<decltype(simgpu_drop_wait)>("simgpu_drop_wait");
    const auto waits = stand_in<decltype(simgpu_waits)>("simgpu_waits");
    const auto races = stand_in<decltype(simgpu_races)>("simgpu_races");
    if (!drop) GTEST_SKIP() << "asks the stand-in for a GPU";
    stand_in<decltype(simgpu_stop_at_races)>("simgpu_stop_at_races")(0);
    const std::string name = "resnet_scripted";
    const Graph graph = capture(test::model_path(name), test::quick(name), device()).take();
    const Plan plan = test::copying_plan(graph, {.homes = true, .results = true, .most = 60, .seed = 3});
    const Model model = load_model(test::model_path(name), device().device()).take();
    Executor executor = Executor::create(plan.graph, model, device()).take();
    std::set<std::int64_t> fetched;  // sizes in bytes
    for (const Step& moving : plan.schedule.steps)
        if (moving.kind == StepKind::fetch) fetched.insert(plan.graph.tensors[moving.tensor()].bytes.value);
    const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(device().device());
    const auto write_over = [&](void* data, std::size_t size) {
        c10::Storage storage(c10::Storage::use_byte_size_t(), size, c10::DataPtr(data, device().device()),
                             nullptr, false);
        const std::int64_t sizes[] = {static_cast<std::int64_t>(size)}, stride[] = {1};
        tensor_on(std::move(storage), device().device(),
                  {.dtype = c10::ScalarType::Byte, .sizes = sizes, .strides = stride})
            .fill_(255);
        // Also overwrites the memory that a tensor of one of the fetched sizes would get now.
        for (const std::int64_t bytes : fetched) at::empty({bytes}, options).fill_(255);
    };
    executor.use({.copies = open_copies(device()).take(), .forgotten = write_over});
    std::vector<at::Tensor> inputs = draw_inputs(test::model_inputs(name), 1);
    for (at::Tensor& input : inputs) input = input.to(device().device());
    const auto step = [&] {
        ASSERT_TRUE(executor.run(plan.schedule.steps, inputs, {.gradient_seed = 1}, plan.schedule.homes));
    };
    for (int warm = 0; warm < 2; ++warm) step();
    races();
    const long before = waits();
    step();
    const long needed = waits() - before;
    EXPECT_EQ(races(), 0) << stand_in<decltype(simgpu_last_race)>("simgpu_last_race")();
    // Before a fetch, the link waits for ops whose workspace was perhaps in the memory that the tensor will
    // get. Kernels of the stand-in have no workspace. So on the stand-in this wait is not needed if nothing
    // was freed since the previous wait. In tests/runtime/transfers, ops have workspaces, and each wait is
    // needed.
    const auto transfers = executor.transfers_of(plan.schedule.steps, plan.schedule.homes).take();
    const TransferPlan& moves = transfers->transfers;
    std::vector<std::size_t> step_of_wait;  // index -> step of the wait, in the order in which the stand-in
                                            // receives the waits
    std::vector<bool> for_workspaces;
    bool freed = true;  // memory becomes free between steps
    for (std::size_t at = 0; at <= moves.steps.size(); ++at) {
        for (const QueueOrder& order : moves.first[at]) {
            if (order.kind != QueueOrder::Kind::wait_for_compute &&
                order.kind != QueueOrder::Kind::wait_for_work)
                continue;
            const bool before_fetch =
                order.kind == QueueOrder::Kind::wait_for_compute && order.queue == CopyQueue::in;
            step_of_wait.push_back(at);
            for_workspaces.push_back(before_fetch && !freed);
            if (before_fetch) freed = false;
        }
        if (at < moves.steps.size() && moves.steps[at].kind == StepKind::free) freed = true;
    }
    ASSERT_EQ(needed, std::ssize(step_of_wait));
    ASSERT_GE(needed, 100);
    ASSERT_LT(std::count(for_workspaces.begin(), for_workspaces.end(), true), needed / 10);
    std::vector<std::size_t> unnoticed;  // steps of waits whose loss caused no race
    for (long left_out = 1; left_out <= needed; ++left_out) {
        drop(left_out);
        step();
        drop(0);
        step();
        const auto wait = static_cast<std::size_t>(left_out - 1);
        if (races() == 0 && !for_workspaces[wait]) unnoticed.push_back(step_of_wait[wait]);
    }
    EXPECT_TRUE(unnoticed.empty()) << unnoticed.size() << " of " << needed << ": "
                                   << ::testing::PrintToString(unnoticed);
}

/// At any time between steps, and after the executor is destroyed, the caller can use its tensors like
/// tensors of the device. When the tensors are destroyed, all their memory is released.
TEST_F(GpuCopies, WhatLivesOnTheHostIsTheCallersAtAnyTime) {
    const std::string name = "gpt_scripted";
    const Graph graph = capture(test::model_path(name), test::quick(name), device()).take();
    const Plan plan = test::copying_plan(graph, {.made = false, .homes = true, .most = 60, .seed = 6});
    ASSERT_GT(plan.schedule.homes.on_host.size(), 4u);
    const auto pinned = stand_in<decltype(simgpu_pinned)>("simgpu_pinned");
    const long long pinned_before = pinned ? pinned() : 0;
    Model model = load_model(test::model_path(name), device().device()).take();
    const Model original = load_model(test::model_path(name), device().device()).take();
    const std::int64_t alive = device().alive_bytes();
    std::vector<at::Tensor> inputs = draw_inputs(test::model_inputs(name), 1);
    for (at::Tensor& input : inputs) input = input.to(device().device());
    std::vector<at::Tensor> tensors, expected;
    for (const NamedTensor& named : model.tensors) tensors.push_back(named.tensor);
    for (const NamedTensor& named : original.tensors) expected.push_back(named.tensor);
    {
        Executor executor = Executor::create(plan.graph, model, device()).take();
        for (int step = 0; step < 3; ++step) {
            const auto done =
                executor.run(plan.schedule.steps, inputs, {.gradient_seed = 1}, plan.schedule.homes);
            ASSERT_TRUE(done) << done.error().message;
            EXPECT_EQ(done->peak, plan.schedule.peak);
            EXPECT_EQ(done->host_peak, plan.schedule.host_peak);
            const at::NoGradGuard no_grad;
            for (auto* all : {&tensors, &expected})  // changes the tensors like an optimizer, without a wait
                                                     // for the result
                for (at::Tensor& tensor : *all)
                    if (tensor.is_floating_point()) tensor.mul_(0.5);
        }
        EXPECT_LT(device().alive_bytes(), alive) << "they are not on the device";
    }
    const auto counted = [&](const at::Tensor& tensor) {
        return device().counts(tensor.storage().data_ptr());
    };
    EXPECT_FALSE(std::all_of(tensors.begin(), tensors.end(), counted));
    for (const at::Tensor& tensor : tensors) EXPECT_TRUE(tensor.is_cuda());
    EXPECT_TRUE(identical(tensors, expected));
    if (pinned) {
        EXPECT_GT(pinned(), pinned_before);
    }
    tensors.clear(), model = {};
    if (pinned) {
        EXPECT_EQ(pinned(), pinned_before);
    }
}

TEST_F(GpuCopies, OverlapWithWork) {
    const auto time = stand_in<decltype(simgpu_time)>("simgpu_time");
    const auto busy = stand_in<decltype(simgpu_busy)>("simgpu_busy");
    if (!time) GTEST_SKIP() << "virtual time is the stand-in's";
    const double began = time(), in = busy(0, 1), out = busy(0, 2);
    stream_through_two_slots(16);
    const double took = time() - began, copied = busy(0, 1) - in + busy(0, 2) - out;
    EXPECT_LT(took, 0.9 * copied) << "both directions at a time";
}

TEST_F(GpuCopies, TheSlabIsPinnedOnceAndToTheByte) {
    const auto pinned = stand_in<decltype(simgpu_pinned)>("simgpu_pinned");
    EXPECT_EQ(slab_->bytes(), 3 * bytes);
    if (!pinned) GTEST_SKIP() << "asks the stand-in for a GPU";
    const long long before = pinned();
    {
        const auto slab = open_slab(device(), 5'000'001);
        ASSERT_TRUE(slab);
        EXPECT_EQ(pinned() - before, 5'000'001);
    }
    EXPECT_EQ(pinned(), before);
}

}  // namespace
}  // namespace rematlas
