// Tests runs of plan files by `run_plan`, and the command-line program rematlas-runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "runtime/verify/plan_run.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using nlohmann::json;
using test::captured;
using test::cpu;
using test::model_path;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct ProgramResult {
    int exit;
    std::string out;
};

ProgramResult run_program(const std::string& arguments) {
    FILE* pipe = popen((std::string(REMATLAS_RUNTIME_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
    ProgramResult result{-1, {}};
    std::array<char, 4096> buffer;
    while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
        result.out.append(buffer.data(), count);
    result.exit = WEXITSTATUS(pclose(pipe));
    return result;
}

int lines_in(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

class RunPlan : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("rematlas_run_plan_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
        graph_ = captured("resnet_scripted");
        ASSERT_TRUE(write_graph(graph_, folder_ / "m.graph.json"));
        plan_ = test::plan_of(graph_, keep_all_sequence(flatten(graph_)));
        ASSERT_TRUE(write_schedule(plan_.schedule, folder_ / "s.schedule.json"));
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string error_of(const Plan& plan, const std::string& model) {
        const Result<RunReport> report = run_plan(plan, model_path(model), {.steps = 1}, cpu());
        EXPECT_FALSE(report);
        const std::string message = report ? "" : report.error().message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        return message;
    }

    std::filesystem::path folder_;
    Graph graph_;
    Plan plan_;
};

TEST_F(RunPlan, RunsAScheduleWithItsGraphBesideIt) {
    const Result<Plan> plan = read_plan_or_schedule(folder_ / "s.schedule.json");
    ASSERT_TRUE(plan) << plan.error().message;
    const Result<RunReport> report = run_plan(*plan, model_path("resnet_scripted"), {.steps = 2}, cpu());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->step_seconds.size(), 2u);
    EXPECT_EQ(report->measured_peak, report->predicted_peak);
}

TEST_F(RunPlan, RunsAPlanFile) {
    ASSERT_TRUE(write_plan(graph_text(graph_), plan_.schedule, folder_ / "m.plan"));
    const Result<Plan> plan = read_plan_or_schedule(folder_ / "m.plan");
    ASSERT_TRUE(plan) << plan.error().message;
    const Result<RunReport> report =
        run_plan(*plan, model_path("resnet_scripted"), {.steps = 1, .verify = true}, cpu());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->verified) << report->mismatch;
}

TEST_F(RunPlan, RefusesAnotherModel) {
    EXPECT_THAT(error_of(plan_, "mlp_scripted"),
                AllOf(HasSubstr("mlp_scripted.pt"), HasSubstr("has no parameter")));
    EXPECT_THAT(error_of(plan_, "unet_scripted"), HasSubstr("unet_scripted.pt"));
}

TEST_F(RunPlan, RefusesAScheduleThatIsNotValid) {
    Plan damaged = plan_;
    damaged.schedule.steps.erase(damaged.schedule.steps.begin());
    EXPECT_THAT(error_of(damaged, "resnet_scripted"), HasSubstr("not valid"));
}

TEST_F(RunPlan, RefusesAStaleSchedule) {
    Graph other = captured("mlp_scripted");
    ASSERT_TRUE(write_graph(other, folder_ / "m.graph.json"));
    const Result<Plan> plan = read_plan_or_schedule(folder_ / "s.schedule.json");
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr("digest"));
}

TEST_F(RunPlan, RefusesAGraphThatWasNotCaptured) {
    plan_.graph.replay = nullptr;
    EXPECT_THAT(error_of(plan_, "resnet_scripted"), HasSubstr("not captured"));
}

TEST_F(RunPlan, AMeasuredPeakAboveThePredictedOneIsAMismatch) {
    plan_.schedule.budget = Bytes();
    Plan cheated = plan_;
    for (Op& op : cheated.graph.ops) op.workspace = Bytes();
    for (Tensor& tensor : cheated.graph.tensors) tensor.bytes = std::min(tensor.bytes, tensor.bytes);
    cheated.schedule = test::plan_of(cheated.graph, keep_all_sequence(flatten(cheated.graph))).schedule;
    ASSERT_LT(cheated.schedule.peak, plan_.schedule.peak)
        << "the model's peak must lie at an op with a workspace";
    const Result<RunReport> report =
        run_plan(cheated, model_path("resnet_scripted"), {.steps = 1, .verify = true}, cpu());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->verified);
    EXPECT_THAT(report->mismatch, HasSubstr("above the predicted"));
}

TEST_F(RunPlan, ProgramPrintsOneObjectAndWritesATrace) {
    const std::string trace = (folder_ / "trace.json").string();
    const ProgramResult result =
        run_program("run " + model_path("resnet_scripted").string() + " " +
                    (folder_ / "s.schedule.json").string() + " --verify --steps 2 --json --trace " + trace);
    ASSERT_EQ(result.exit, 0) << result.out;
    const json object = json::parse(result.out);
    for (const char* key : {"verified", "outputs_identical", "gradients_identical", "buffers_identical",
                            "random_state_identical"}) {
        EXPECT_EQ(object[key], true) << key;
    }
    for (const char* key :
         {"steps", "predicted_peak_bytes", "measured_peak_bytes", "budget_bytes", "time_ratio_to_eager",
          "overhead_predicted", "overhead_measured", "step_seconds"}) {
        EXPECT_TRUE(object.contains(key)) << key;
    }
    const json events = json::parse(read_file(trace).take())["traceEvents"];
    const auto ops =
        std::count_if(events.begin(), events.end(), [](const json& event) { return event["ph"] == "X"; });
    EXPECT_EQ(static_cast<std::size_t>(ops), graph_.ops.size());
}

TEST_F(RunPlan, ProgramCapturesWithProgressAsJsonLines) {
    const std::string graph = (folder_ / "mlp.graph.json").string();
    const ProgramResult result =
        run_program("capture " + model_path("mlp_scripted").string() + " --input 'f32[32,64]' -o " + graph +
                    " --progress-json --repeats 2");
    ASSERT_EQ(result.exit, 0) << result.out;
    const json first = json::parse(result.out.substr(0, result.out.find('\n')));
    EXPECT_EQ(first["stage"], "load");
    EXPECT_TRUE(first["fraction"].is_number());
    EXPECT_TRUE(read_graph(graph));
}

TEST_F(RunPlan, ProgramTakesTheModelAfterTheInputs) {
    const std::string graph = (folder_ / "t.graph.json").string();
    const ProgramResult result =
        run_program("capture --input 'i64[2,10]<50' --input 'i64[2,8]<50' " +
                    model_path("translator_traced").string() + " --repeats 1 --json -o " + graph);
    ASSERT_EQ(result.exit, 0) << result.out;
    EXPECT_EQ(json::parse(result.out)["graph_sha256"], read_graph(graph)->sha256);
}

TEST_F(RunPlan, ProgramRefusesInOneLineWithStatusTwo) {
    const std::string model = model_path("mlp_scripted").string();
    const std::string out = " -o " + (folder_ / "x.graph.json").string();
    for (const auto& [arguments, cause] : std::vector<std::pair<std::string, std::string>>{
             {"capture " + model + " --input 'f32[2'" + out, "--input"},
             {"capture " + model + " --input 'f32[2,2]'" + out, "mlp_scripted.pt"},
             {"capture " + model + " --input 'f32[32,64]' --device meta" + out, "--device meta"},
             {"capture " + model + " --input 'f32[32,64]' --device tpu" + out, "tpu"},
             {"capture " + model + " --input 'f32[32,64]' --optimizer adagrad" + out, "--optimizer adagrad"},
             {"capture " + model + " --input 'f32[32,64]' --optimizer adam --optimizer-options x=1" + out,
              "--optimizer-options"},
             {"capture " + model + " --input 'f32[32,64]' --optimizer-options lr=1" + out,
              "--optimizer-options"},
             {"capture " + model + " --input 'f32[32,64]' --loss guess" + out, "--loss guess"},
             {"capture " + model + " --input 'f32[32,64]'", "--output"},
             {"capture " + model + " --input 'f32[32,64]' --device-profile h200" + out, "--device-profile"},
             {"run " + model + " nowhere.plan", "nowhere.plan"},
             {"run " + model + " nowhere.plan --steps 0", "--steps"},
             {"fly", "fly"},
         }) {
        const ProgramResult result = run_program(arguments);
        EXPECT_EQ(result.exit, 2) << arguments << "\n" << result.out;
        EXPECT_EQ(lines_in(result.out), 1) << result.out;
        EXPECT_THAT(result.out, HasSubstr(cause)) << arguments;
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x.graph.json"));
}

TEST_F(RunPlan, ProgramShowsAnExampleInItsHelp) {
    for (const char* command : {"capture", "run"}) {
        const ProgramResult result = run_program(std::string(command) + " --help");
        EXPECT_EQ(result.exit, 0);
        EXPECT_THAT(result.out, HasSubstr("rematlas " + std::string(command)));
        EXPECT_THAT(result.out, HasSubstr("Example"));
    }
}

}  // namespace
}  // namespace rematlas
