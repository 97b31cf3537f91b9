// Tests graphs of a device whose allocator rounds up requests and whose libraries hold a workspace, as on
// CUDA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/model/load_model.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/graph_capturing_device.h"

namespace rematlas {
namespace {

using test::model_path;
using ::testing::HasSubstr;

TEST(CapturedForDevice, CountsEveryTensorInGranulesAndTheWorkspaceOfLibrariesAndReplays) {
    for (const char* name : {"gpt_scripted", "inplace_scripted", "resnet_scripted"}) {
        test::GraphCapturingDevice device(test::cpu());
        device.granularity = 512;
        device.workspace = 8192;
        const Result<Graph> graph = capture(model_path(name), test::quick(name), device);
        ASSERT_TRUE(graph) << graph.error().message;
        for (const Tensor& tensor : graph->tensors) EXPECT_EQ(tensor.bytes.value % 512, 0) << tensor.name;
        const auto workspace =
            std::find_if(graph->tensors.begin(), graph->tensors.end(),
                         [](const Tensor& tensor) { return tensor.name == "library workspace"; });
        ASSERT_NE(workspace, graph->tensors.end());
        EXPECT_EQ(workspace->bytes, Bytes(8192));

        const FlatGraph flat = flatten(*graph);
        const Plan plan = test::plan_of(*graph, test::shuffled_with_reruns(flat, 0.3, /*shuffle=*/false, 2));
        const Result<RunReport> report =
            run_plan(plan, model_path(name), {.steps = 2, .verify = true, .arena = false}, device);
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->verified) << report->mismatch;
    }
}

TEST(CapturedForDevice, OfAnotherDeviceIsRefused) {
    Graph graph = test::captured("mlp_scripted");
    ASSERT_TRUE(graph.device);
    EXPECT_EQ(graph.device->kind, "cpu");
    graph.device->kind = "cuda";
    const Model model = load_model(model_path("mlp_scripted")).take();
    const Result<Executor> executor = Executor::create(graph, model, test::cpu());
    ASSERT_FALSE(executor);
    EXPECT_THAT(executor.error().message, HasSubstr("captured for cuda and cannot run on cpu"));
}

}  // namespace
}  // namespace rematlas
