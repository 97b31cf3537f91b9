// Tests capture and replay on a CUDA device. Skipped without a device.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/addresses/caching_allocator.h"
#include "core/schedule/run_sequence.h"
#include "runtime/replay/compare.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"
#include "tests/runtime/copying_plan.h"
#include "tests/runtime/gpu.h"

namespace rematlas {
namespace {

using test::Gpu;
using test::model_path;
using test::plan_of;
using test::shuffled_with_reruns;

class GpuReplay : public Gpu, public ::testing::WithParamInterface<const char*> {
  protected:
    const Graph& captured() const {
        static std::map<std::string, Graph> graphs;
        const std::string name = GetParam();
        const auto found = graphs.find(name);
        if (found != graphs.end()) return found->second;
        Result<Graph> graph = capture(model_path(name), test::quick(name), device());
        if (!graph) ADD_FAILURE() << graph.error().message;
        return graphs.emplace(name, graph ? graph.take() : Graph()).first->second;
    }

    RunReport run(const Plan& plan, bool cuda_graphs = false) const {
        const Result<RunReport> report = run_plan(
            plan, model_path(GetParam()), {.steps = 3, .verify = true, .cuda_graphs = cuda_graphs}, device());
        if (!report) ADD_FAILURE() << report.error().message;
        return report ? *report : RunReport();
    }
    void expect_identical(const RunSequence& runs) const {
        ASSERT_FALSE(captured().ops.empty());
        const RunReport report = run(plan_of(captured(), runs));
        EXPECT_TRUE(report.verified) << report.mismatch;
        EXPECT_NEAR(double(report.measured_peak.value), double(report.predicted_peak.value),
                    0.002 * double(report.predicted_peak.value));
    }
};

TEST_P(GpuReplay, WithoutRecomputationIsIdenticalAndTakesThePredictedBytes) {
    expect_identical(keep_all_sequence(flatten(captured())));
}

/// A rerun of dropout draws the same numbers again, because it begins at the same offset of the Philox
/// generator.
TEST_P(GpuReplay, WithRerunsIsIdenticalAndTakesThePredictedBytes) {
    for (std::uint64_t seed : {1, 2})
        expect_identical(shuffled_with_reruns(flatten(captured()), 0.4, /*shuffle=*/false, seed));
}

TEST_P(GpuReplay, InAnotherOrderIsIdenticalAndTakesThePredictedBytes) {
    expect_identical(shuffled_with_reruns(flatten(captured()), 0.3, /*shuffle=*/true, 4));
}

/// Offloads parameters and tensors that ops make, and fetches them again.
TEST_P(GpuReplay, WithCopiesToTheHostIsIdenticalAndTakesThePredictedBytes) {
    if (test::has_host_tensors(captured())) GTEST_SKIP() << "some tensors lie on the host anyway";
    for (const std::uint64_t seed : {1, 2}) {
        const Plan plan = test::copying_plan(captured(), {.residents = seed == 2, .most = 60, .seed = seed});
        EXPECT_GT(test::copies_in(plan.schedule), 7);
        const RunReport report = run(plan);
        EXPECT_TRUE(report.verified) << report.mismatch;
        EXPECT_EQ(report.measured_host_peak, plan.schedule.host_peak);
        EXPECT_NEAR(double(report.measured_peak.value), double(report.predicted_peak.value),
                    0.002 * double(report.predicted_peak.value));
    }
}

TEST_P(GpuReplay, AllocatesWhatTheModelOfTheAllocatorForetells) {
    const Graph& graph = captured();
    ASSERT_TRUE(graph.device && graph.device->allocator);
    const Plan plan = plan_of(graph, shuffled_with_reruns(flatten(graph), 0.4, /*shuffle=*/false, 3));
    const auto peaks = caching_allocator_peaks(graph, plan.schedule.steps, *graph.device->allocator);
    ASSERT_TRUE(peaks) << peaks.error().message;
    EXPECT_NEAR(double(run(plan).measured_peak.value), double(peaks->allocated.value),
                0.002 * double(peaks->allocated.value));
}

TEST_P(GpuReplay, RecordedAsCudaGraphsIsIdenticalOrSaysWhichOpPreventsIt) {
    const Plan plan =
        plan_of(captured(), shuffled_with_reruns(flatten(captured()), 0.4, /*shuffle=*/true, 5));
    const RunReport report = run(plan, /*cuda_graphs=*/true);
    EXPECT_TRUE(report.outputs_identical && report.gradients_identical && report.buffers_identical &&
                report.random_state_identical)
        << report.mismatch;
    if (!report.cuda_graphs) {
        EXPECT_NE(report.why_no_cuda_graphs.find("op "), std::string::npos) << report.why_no_cuda_graphs;
    }
}

INSTANTIATE_TEST_SUITE_P(SmallModels, GpuReplay,
                         ::testing::Values("mlp_scripted", "resnet_scripted", "gpt_scripted", "unet_scripted",
                                           "translator_scripted", "inplace_scripted"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rematlas
