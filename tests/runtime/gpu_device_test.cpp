// Tests the runtime of a CUDA device. Skipped without a device.
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/random.h>
#include <ATen/ops/sum.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/schedule/run_sequence.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/room.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/gpu.h"

namespace rematlas {
namespace {

using test::Gpu;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Gpu, ARequestTakesItsFootprint) {
    for (const std::int64_t bytes : {1, 511, 512, 513, 100'000, 3'000'000, 30'000'001}) {
        const std::int64_t before = device().alive_bytes();
        const at::Tensor tensor = at::empty({bytes}, floats().dtype(c10::ScalarType::Byte));
        EXPECT_EQ(device().alive_bytes() - before, device().footprint(bytes)) << bytes;
    }
}

TEST_F(Gpu, LibrariesHoldTheirWorkspaceFromTheBeginning) {
    const std::int64_t before = device().alive_bytes();
    for (const std::int64_t size : {8, 256, 2048}) {
        const at::Tensor matrix = at::ones({size, size}, floats());
        at::mm(matrix, matrix);
    }
    device().synchronize();
    EXPECT_EQ(device().alive_bytes(), before);
    EXPECT_GT(device().library_workspace(), 0);
}

TEST_F(Gpu, MarksDoNotDescendAndStartAtZero) {
    const at::Tensor matrix = at::ones({512, 512}, floats());
    const std::unique_ptr<Marks> marks = device().marks(9);
    for (int i = 0; i < 9; ++i) {
        marks->place();
        at::mm(matrix, matrix);
    }
    const std::vector<std::int64_t> times = marks->read();
    ASSERT_EQ(times.size(), 9u);
    EXPECT_EQ(times.front(), 0);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_GT(times.back(), 0);
}

/// Autograd runs each backward on a thread of its own, for which libraries need another workspace.
TEST_F(Gpu, LibrariesHoldTheirWorkspaceForAutogradsThreadToo) {
    const std::int64_t before = device().alive_bytes();
    {
        const c10::AutoGradMode with_history(true);
        const at::Tensor matrix = at::ones({256, 256}, floats()).requires_grad_();
        at::mm(matrix, matrix).backward(at::ones({256, 256}, floats()));
    }
    device().synchronize();
    EXPECT_EQ(device().alive_bytes(), before);
}

TEST_F(Gpu, ACaptureThatFailsLeavesNothingBehind) {
    device().trim();
    const std::int64_t alive = device().alive_bytes(), reserved = device().reserved_bytes();
    for (const bool while_capturing : {false, true}) {
        const std::function<void()> part = [&] {
            const at::Tensor large = at::empty({30'000'000}, floats());
            if (while_capturing)
                (void)large.sum().item();  // would make the host wait, which is not allowed
                                           // during a capture
            throw std::runtime_error("asked to fail");
        };
        EXPECT_ANY_THROW(device().capture_graphs({&part, 1}));
        device().trim();
        EXPECT_EQ(device().alive_bytes(), alive);
        EXPECT_EQ(device().reserved_bytes(), reserved);
    }
    { const at::Tensor large = at::empty({30'000'000}, floats()); }
    device().trim();
    EXPECT_EQ(device().reserved_bytes(), reserved) << "what is free goes back to the device as before";
}

TEST_F(Gpu, GraphsTakeTheBytesOfThePlanAndGiveThemBack) {
    Result<Graph> graph = capture(test::model_path("gpt_scripted"), test::quick("gpt_scripted"), device());
    ASSERT_TRUE(graph) << graph.error().message;
    const Plan plan = test::plan_of(*graph, keep_all_sequence(flatten(*graph)));
    const Model model = load_model(test::model_path("gpt_scripted"), device().device()).take();
    Executor executor = Executor::create(*graph, model, device()).take();
    DeviceKernels kernels(device());
    const std::vector<at::Tensor> inputs = kernels.draw(test::model_inputs("gpt_scripted"), 1);
    device().trim();
    const std::int64_t alive = device().alive_bytes(), reserved = device().reserved_bytes();
    for (int again = 0; again < 2; ++again) {
        ASSERT_TRUE(executor.capture_graphs(plan.schedule.steps, inputs));
        {
            const Result<Replayed> step = executor.run_graphs(inputs);
            ASSERT_TRUE(step) << step.error().message;
            EXPECT_EQ(step->peak, plan.schedule.peak);
        }
        EXPECT_GT(device().reserved_bytes(), reserved);
        executor.drop_graphs();
        EXPECT_EQ(device().alive_bytes(), alive);
        EXPECT_EQ(device().reserved_bytes(), reserved);
    }
}

TEST_F(Gpu, GraphsOfAnotherGpuOrLibraryAreRefused) {
    const Result<Graph> captured =
        capture(test::model_path("mlp_scripted"), test::quick("mlp_scripted"), device());
    ASSERT_TRUE(captured) << captured.error().message;
    const auto refusal = [&](const std::function<void(Graph&, nlohmann::json&)>& change) {
        Graph graph = *captured;
        nlohmann::json provenance = *graph.provenance;
        change(graph, provenance);
        graph.provenance = std::make_shared<const nlohmann::json>(std::move(provenance));
        const Model model = load_model(test::model_path("mlp_scripted"), device().device()).take();
        const Result<Executor> executor = Executor::create(graph, model, device());
        return executor ? std::string() : executor.error().message;
    };
    EXPECT_EQ(refusal([](Graph&, nlohmann::json&) {}), "");
    EXPECT_THAT(refusal([](Graph&, nlohmann::json& from) { from["multiprocessors"] = 1; }),
                HasSubstr("on a GPU of 1 multiprocessors"));
    EXPECT_THAT(refusal([](Graph&, nlohmann::json& from) { from["torch"] = "1.0"; }),
                HasSubstr("with torch 1.0"));
    EXPECT_THAT(refusal([](Graph& graph, nlohmann::json&) { graph.device->name = "Other"; }),
                HasSubstr("captured on Other"));
    const std::string other_workspace = refusal([](Graph& graph, nlohmann::json&) {
        for (Tensor& tensor : graph.tensors)
            if (tensor.name == library_workspace_name) tensor.bytes = Bytes(512);
    });
    // Since 2.15, torch gives cuBLAS a separate workspace for each op, and counts it as the op's memory. The
    // workspace that the library keeps is then small.
    if (device().library_workspace() > (1 << 20))
        EXPECT_THAT(other_workspace,
                    AllOf(HasSubstr("with 512 bytes of workspace"), HasSubstr("CUBLAS_WORKSPACE_CONFIG")));
    else
        EXPECT_EQ(other_workspace, "");
    EXPECT_THAT(refusal([](Graph&, nlohmann::json& from) { from["settings"]["cudnn_benchmark"] = true; }),
                HasSubstr("torch.backends.cudnn.benchmark was on"));
}

TEST_F(Gpu, TheGeneratorOfTheHostIsPartOfTheState) {
    const auto before = device().generator_state();
    EXPECT_EQ(before->distance_to(*device().generator_state()), 0);
    (void)at::empty({5}, c10::TensorOptions()).random_();
    const auto after = device().generator_state();
    EXPECT_FALSE(before->equals(*after));
    EXPECT_NE(before->digest(), after->digest());
    const auto draws = before->distance_to(*after);
    ASSERT_TRUE(draws);
    EXPECT_LT(*draws, 0);
    before->advance(*draws);
    EXPECT_TRUE(before->equals(*after));
}

TEST_F(Gpu, RoomIsWhatTheAllocatorHoldsAndTheDriverTakes) {
    const Result<Graph> graph =
        capture(test::model_path("resnet_scripted"), test::quick("resnet_scripted"), device());
    ASSERT_TRUE(graph) << graph.error().message;
    const Plan plan = test::plan_of(*graph, keep_all_sequence(flatten(*graph)));
    const auto room = room_for(*graph, plan.schedule.steps, device());
    ASSERT_TRUE(room);
    EXPECT_EQ(room->allocated, plan.schedule.peak);
    EXPECT_GE(room->reserved, room->allocated);
    EXPECT_GE(room->context.value, 0);
    EXPECT_TRUE(check_room(*room, Bytes(0), device()));
    const Room larger{room->allocated, Bytes(device().available_bytes() + 1), room->context};
    const Result<void> refused = check_room(larger, Bytes(0), device());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("before the step begins"));
}

}  // namespace
}  // namespace rematlas
