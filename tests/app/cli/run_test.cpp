// Tests `inspect` on run files, which have one line for each step of a training.
#include "core/base/files.h"
#include "tests/app/cli/command_line.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class RunOfSteps : public CommandLine {
  protected:
    std::string written(const std::string& budget = "4096") {
        const std::string text =
            R"({"format": "rematlas.steps", "version": 1, "model": "Net", "budget_bytes": )" + budget +
            R"(, "process": 7}
{"step": 0, "by": "recorded", "seconds": 0.5, "peak_bytes": 5000}
{"step": 1, "by": "plan", "seconds": 0.2, "peak_bytes": 4000, "planned_peak_bytes": 4096, "overhead": 1.125}
{"step": 2, "by": "plan", "seconds": 0.3, "peak_bytes": 4200, "planned_peak_bytes": 4096, "overhead": 1.125}
{"step": 3, "by": "plan", "seconds": 0.9, "peak_bytes": 3000, "planned_peak_bytes": 4096, "overhead": 1.125}
{"step": 4, "by": "original", "seconds": 1, "peak_bytes": 6000, "why": "another shape"}
{"step": 5, "by": "original", "seconds": 1, "peak_bytes": 6000, "why": "another shape"}
{"step": 6, "by": "original", "seconds": 1, "peak_bytes": 6000, "why": "a gradient is asked for"}
)";
        EXPECT_TRUE(write_file(file("run.jsonl"), text));
        return file("run.jsonl");
    }
};

TEST_F(RunOfSteps, is_told_by_who_ran_them_and_why) {
    const Ran ran = run("inspect " + written());
    EXPECT_EQ(ran.exit, 0) << ran.err;
    for (const char* part :
         {"Net: 7 steps, a budget of 4.00 KiB", "recorded            1", "plan                3", "300 ms",
          "4.10 KiB", "original            3", "above the budget: 5 steps",
          "above what the plan foretold: 1 step\n", "2x  another shape", "1x  a gradient"})
        EXPECT_THAT(ran.out, HasSubstr(part));
    EXPECT_THAT(ran.out, Not(HasSubstr("evicted")));
}

TEST_F(RunOfSteps, has_one_object_of_json) {
    const json told = json::parse(run("inspect " + written() + " --top 1 --json").out);
    EXPECT_EQ(told["format"], "rematlas.run");
    EXPECT_EQ(told["steps"], 7);
    EXPECT_EQ(told["budget_bytes"], 4096);
    EXPECT_EQ(told["steps_over_budget"], 5);
    EXPECT_EQ(told["steps_over_plan"], 1);
    EXPECT_EQ(told["by"].size(), 3u);
    EXPECT_EQ(told["by"]["plan"]["steps"], 3);
    EXPECT_EQ(told["by"]["plan"]["highest_peak_bytes"], 4200);
    EXPECT_DOUBLE_EQ(told["by"]["plan"]["median_seconds"].get<double>(), 0.3);
    EXPECT_EQ(told["reasons"], json::array({{{"why", "another shape"}, {"steps", 2}}}));
    EXPECT_EQ(told["last"]["by"], "original");
    EXPECT_FALSE(told["last"].contains("overhead"));
}

TEST_F(RunOfSteps, without_a_budget_in_bytes_says_so) {
    const std::string path = written("null");
    EXPECT_THAT(run("inspect " + path).out, HasSubstr("a share of the step"));
    EXPECT_FALSE(json::parse(run("inspect " + path + " --json").out).contains("steps_over_budget"));
}

TEST_F(RunOfSteps, is_no_file_of_other_commands) {
    const std::string path = written();
    for (const std::string& command :
         {"draw " + path + " -o " + file("x.svg"), "report " + path + " -o " + file("x.html"),
          "check " + file("g.graph.json") + " " + path}) {
        const Ran ran = run(command);
        EXPECT_EQ(ran.exit, 2) << command;
        EXPECT_THAT(ran.err, HasSubstr("steps of a training run")) << command;
    }
    EXPECT_THAT(run("inspect " + path + " --plan " + file("s.schedule.json")).err, HasSubstr("--plan"));
    EXPECT_THAT(run("inspect " + path + " --device-profile pcie4").err, HasSubstr("no links"));
}

}  // namespace
}  // namespace rematlas
