// Tests training under online eviction, and the record of a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "runtime/model/load_model.h"
#include "runtime/verify/evicted_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using nlohmann::json;
using test::cpu;
using test::model_inputs;
using test::model_path;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;

EvictedOptions options_for(const std::string& name, const std::string& budget) {
    return {.inputs = model_inputs(name),
            .budget = parse_budget(budget).take(),
            .steps = 3,
            .verify = true,
            .record = true};
}

EvictedReport trained(const std::string& name, const EvictedOptions& options) {
    Result<EvictedReport> report = train_evicting(model_path(name), options, cpu());
    EXPECT_TRUE(report) << report.error().message;
    return report ? report.take() : EvictedReport();
}

struct Case {
    const char* model;
    const char* budget;  ///< share of the original's peak, less than 100 % and enough for the step
};

class RunEvicting : public ::testing::TestWithParam<Case> {};

/// The costs of ops follow from their bytes, so the evictions and the reruns are the same on each machine.
TEST_P(RunEvicting, IsIdenticalWithinTheBudget) {
    EvictedOptions options = options_for(GetParam().model, GetParam().budget);
    options.costs_from_bytes = true;
    const EvictedReport report = trained(GetParam().model, options);
    EXPECT_TRUE(report.verified) << report.mismatch;
    EXPECT_TRUE(report.outputs_identical && report.gradients_identical && report.buffers_identical &&
                report.random_state_identical);
    EXPECT_LE(report.measured_peak, report.budget);
    EXPECT_LT(report.budget, report.original_peak);
    ASSERT_EQ(report.steps.size(), 3u);
    EXPECT_THAT(report.steps, Each(AllOf(Field(&EvictedReport::Step::evictions, Gt(0)),
                                         Field(&EvictedReport::Step::reruns, Gt(0)))));
    EXPECT_GT(report.rerun_overhead, 1.0);
}

TEST_P(RunEvicting, TheRecordIsAStepThatTheCheckerAccepts) {
    const EvictedReport report = trained(GetParam().model, options_for(GetParam().model, GetParam().budget));
    EXPECT_TRUE(report.verified) << report.mismatch;
    ASSERT_TRUE(report.record);
    const Schedule& schedule = report.record->schedule;
    const CheckReport checked = check(report.record->graph, schedule);
    EXPECT_TRUE(checked.ok()) << checked.violations.front();
    EXPECT_EQ(checked.peak, schedule.peak);
    EXPECT_LE(schedule.peak, report.record->counted_peak);
    EXPECT_LE(report.record->counted_peak, report.budget);
    EXPECT_EQ(report.record->counted_peak, report.steps.back().peak);
    // The record ends with the backward, but the reported step ends with the update of the weights.
    EXPECT_LE(static_cast<std::int64_t>(checked.reruns), report.steps.back().reruns);
    EXPECT_LE(static_cast<std::int64_t>(schedule.evicted.size()), report.steps.back().evictions);
    EXPECT_GT(schedule.evicted.size(), 0u);
    EXPECT_EQ(report.record->measures.size(), schedule.steps.size());
}

INSTANTIATE_TEST_SUITE_P(, RunEvicting,
                         ::testing::Values(Case{"gpt_scripted", "85%"}, Case{"gpt_traced", "85%"},
                                           Case{"resnet_scripted", "75%"}, Case{"unet_scripted", "80%"},
                                           Case{"lstm_scripted", "92%"}),
                         [](const auto& info) { return std::string(info.param.model); });

TEST(EvictedRecord, WithRoomForAllItHasThePeakThatWasCounted) {
    for (const char* name :
         {"gpt_scripted", "resnet_scripted", "mlp_traced", "unet_traced", "inplace_scripted"}) {
        const EvictedReport report = trained(name, options_for(name, "150%"));
        EXPECT_TRUE(report.verified) << report.mismatch;
        ASSERT_TRUE(report.record);
        EXPECT_EQ(report.record->schedule.peak, report.record->counted_peak) << name;
        EXPECT_EQ(report.record->schedule.overhead, 1.0);
        EXPECT_TRUE(report.record->schedule.evicted.empty());
    }
}

TEST(EvictedRecord, TellsWhereOpsComeFrom) {
    const EvictedReport report = trained("resnet_scripted", options_for("resnet_scripted", "100%"));
    ASSERT_TRUE(report.record);
    const Graph& graph = report.record->graph;
    int convolutions = 0, of_forward = 0;
    for (const Op& op : graph.ops) {
        if (op.name.find("conv") == op.name.npos) continue;
        ++convolutions;
        EXPECT_NE(op.module, "") << op.name;
        if (op.phase != Phase::backward) continue;
        ASSERT_TRUE(op.of) << op.name;
        EXPECT_EQ(graph.ops[*op.of].module, op.module);
        ++of_forward;
    }
    EXPECT_GT(convolutions, 2);
    EXPECT_GT(of_forward, 1);
    std::size_t parameters = 0;
    for (const Tensor& tensor : graph.tensors) parameters += tensor.kind == TensorKind::parameter;
    Result<Model> model = load_model(model_path("resnet_scripted"));
    ASSERT_TRUE(model);
    EXPECT_EQ(parameters, model->trained().size());
}

TEST(EvictedTraining, TakesEachLoss) {
    for (const Loss loss : {Loss::sum, Loss::mean, Loss::cross_entropy}) {
        EvictedOptions options = options_for("gpt_scripted", "85%");
        options.loss = loss;
        const EvictedReport report = trained("gpt_scripted", options);
        EXPECT_TRUE(report.verified) << to_string(loss) << ": " << report.mismatch;
    }
}

TEST(EvictedTraining, WithoutTheOriginalItTakesBytes) {
    const EvictedReport verified = trained("unet_scripted", options_for("unet_scripted", "80%"));
    EvictedOptions options = options_for("unet_scripted", std::to_string(verified.budget.value));
    options.verify = options.record = false;
    const EvictedReport report = trained("unet_scripted", options);
    EXPECT_EQ(report.budget, verified.budget);
    EXPECT_LE(report.measured_peak, report.budget);
    EXPECT_EQ(report.steps.size(), 3u);
    EXPECT_FALSE(report.record);
}

TEST(EvictedTraining, ABudgetThatCannotBeKeptIsANoThatNamesTheOp) {
    for (const bool verify : {false, true}) {
        EvictedOptions options = options_for("gpt_scripted", "260KiB");
        options.verify = verify;
        options.costs_from_bytes = true;
        const Result<EvictedReport> report = train_evicting(model_path("gpt_scripted"), options, cpu());
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().kind, ErrorKind::negative);
        EXPECT_THAT(report.error().message,
                    AllOf(HasSubstr("gpt_scripted.pt: aten::"), HasSubstr("bytes are missing"),
                          HasSubstr("cannot be made again"), ::testing::Not(HasSubstr("\n"))));
    }
}

// Tests that start the program and read its output.

struct Answer {
    int exit;
    std::string out;
};

Answer program(const std::string& arguments) {
    FILE* pipe = popen((std::string(REMATLAS_RUNTIME_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
    Answer answer{-1, {}};
    std::array<char, 4096> buffer;
    while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
        answer.out.append(buffer.data(), count);
    answer.exit = WEXITSTATUS(pclose(pipe));
    return answer;
}

class EvictingProgram : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("rematlas_evicting_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
    const std::string run_ = "run " + model_path("resnet_scripted").string() + " --input 'f32[4,3,32,32]'";
};

TEST_F(EvictingProgram, PrintsOneObjectAndWritesTheRecordAndATrace) {
    const std::string name = (folder_ / "last").string(), trace = (folder_ / "trace.json").string();
    const Answer answer = program(run_ + " --evict --budget 75% --verify --steps 2 --json --record " + name +
                                  " --trace " + trace);
    ASSERT_EQ(answer.exit, 0) << answer.out;
    const json object = json::parse(answer.out);
    EXPECT_EQ(object["verified"], true);
    EXPECT_EQ(object["evictions"].size(), 2u);
    EXPECT_EQ(object["rematerializations"].size(), 2u);
    EXPECT_EQ(object["step_seconds"].size(), 2u);
    EXPECT_LE(object["measured_peak_bytes"], object["budget_bytes"]);
    EXPECT_GT(object["time_ratio_to_eager"], 0);
    EXPECT_EQ(object["record"]["graph"], name + ".graph.json");

    const Result<Graph> graph = read_graph(name + ".graph.json");
    const Result<Schedule> schedule = read_schedule(name + ".schedule.json");
    ASSERT_TRUE(graph && schedule);
    EXPECT_EQ(schedule->graph_sha256, graph->sha256);
    EXPECT_TRUE(check(*graph, *schedule).ok());
    EXPECT_LE(schedule->evicted.size(), object["evictions"].back());
    EXPECT_GT(schedule->evicted.size(), 0u);
    EXPECT_EQ(schedule->peak.value, object["record"]["peak_bytes"]);
    const json events = json::parse(read_file(trace).take())["traceEvents"];
    const auto ops =
        std::count_if(events.begin(), events.end(), [](const json& event) { return event["ph"] == "X"; });
    const auto runs = std::count_if(schedule->steps.begin(), schedule->steps.end(),
                                    [](const Step& step) { return step.runs(); });
    EXPECT_EQ(ops, runs);
}

TEST_F(EvictingProgram, ABudgetThatCannotBeKeptIsStatusOneInOneLine) {
    const std::string name = (folder_ / "last").string();
    const Answer answer = program(run_ + " --evict --budget 1MB --record " + name);
    EXPECT_EQ(answer.exit, 1) << answer.out;
    EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 1) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("bytes are missing"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(EvictingProgram, RefusesInOneLineWithStatusTwo) {
    const std::string model = model_path("resnet_scripted").string();
    for (const auto& [arguments, cause] : std::vector<std::pair<std::string, std::string>>{
             {run_ + " --evict", "--budget"},
             {"run " + model + " --evict --budget 2MiB", "--input"},
             {"run " + model + " x.plan --evict --budget 2MiB", "x.plan"},
             {run_ + " --evict --budget 60%", "--verify"},
             {run_ + " --evict --budget much", "much"},
             {run_ + " --evict --budget 2MiB --loss guess", "--loss guess"},
             {run_ + " --evict --budget 2MiB --heuristic guess", "--heuristic"},
             {run_ + " --evict --budget 2MiB --cuda-graphs", "--cuda-graphs"},
             {run_ + " --evict --budget 2MiB --record /nowhere/last", "/nowhere"},
             {"run " + model + " --evict --budget 2MiB --input 'f32[2,2]'", "resnet_scripted.pt"},
             {"run " + model + " x.plan --budget 2MiB", "--budget"},
             {"run " + model + " x.plan --record last", "--record"},
             {"run " + model, "plan is required"},
         }) {
        const Answer answer = program(arguments);
        EXPECT_EQ(answer.exit, 2) << arguments << "\n" << answer.out;
        EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 1) << answer.out;
        EXPECT_THAT(answer.out, HasSubstr(cause)) << arguments;
    }
}

}  // namespace
}  // namespace rematlas
