// Tests `inspect` on files with measurements by torch.
#include "core/base/files.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/cli/command_line.h"
#include "tests/core/support/pickle_writer.h"
#include "tests/core/support/random_snapshot.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Measured : public CommandLine {
  protected:
    std::string snapshot(const std::string& name, int kept = 150) {
        EXPECT_TRUE(write_file(file(name), pickled(random_snapshot(1, {.kept = kept}).snapshot)));
        return file(name);
    }
};

TEST_F(Measured, a_snapshot_is_told_for_each_device) {
    const Ran ran = run("inspect " + snapshot("s.pickle"));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    for (const char* part :
         {"s.pickle: a snapshot by torch", "expandable_segments:False", "cuda:0", "cuda:1", "peak allocated",
          "peak reserved", "alive at the peak", "model.py:", "out of memory", "the largest free block",
          "what the trace does not know", "The trace begins with"})
        EXPECT_THAT(ran.out, HasSubstr(part));
    EXPECT_THAT(ran.out, Not(HasSubstr("functional.py"))) << "torch's own files are passed over";
}

TEST_F(Measured, top_bounds_the_places) {
    const std::string path = snapshot("s.pickle");
    EXPECT_THAT(run("inspect " + path).out, Not(HasSubstr("--top shows them")));
    EXPECT_THAT(run("inspect " + path + " --top 1").out, HasSubstr("--top shows them"));
}

TEST_F(Measured, a_snapshot_has_one_object_of_json) {
    const json told = json::parse(run("inspect " + snapshot("any.name") + " --json").out);
    EXPECT_EQ(told["format"], "rematlas.measurement");
    EXPECT_EQ(told["source"], "snapshot");
    ASSERT_EQ(told["devices"].size(), 2u);
    const json& device = told["devices"][0];
    const DeviceTruth truth = random_snapshot(1).devices[0];
    EXPECT_EQ(device["peak_allocated_bytes"],
              *std::max_element(truth.allocated.begin(), truth.allocated.end()));
    EXPECT_EQ(device["unknown"]["allocated_before_bytes"], truth.allocated.front());
    EXPECT_FALSE(device.contains("plan"));
}

TEST_F(Measured, a_plan_stands_beside_the_measurement) {
    run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " + file("s.schedule.json"));
    const Result<Schedule> schedule = read_schedule(file("s.schedule.json"));
    ASSERT_TRUE(schedule);
    const std::string command = "inspect " + snapshot("s.pickle") + " --plan " + file("s.schedule.json");
    const json device = json::parse(run(command + " --json").out)["devices"][0];
    const json& plan = device["plan"];
    EXPECT_EQ(plan["predicted_peak_bytes"], schedule->peak.value);
    EXPECT_EQ(plan["difference_bytes"].get<std::int64_t>(),
              device["peak_allocated_bytes"].get<std::int64_t>() - schedule->peak.value);
    EXPECT_FALSE(plan["differences"].empty());
    const Ran ran = run(command);
    for (const char* part : {"predicted peak (budget ", "measured peak", "than predicted (", "by size"})
        EXPECT_THAT(ran.out, HasSubstr(part));
    std::filesystem::remove(file("g.graph.json"));
    EXPECT_EQ(run(command).exit, 0) << "its graph is not needed for the peaks";
    EXPECT_THAT(run(command).out, Not(HasSubstr("by size")));
}

TEST_F(Measured, a_profile_says_that_it_has_no_frames) {
    const json event = {{"name", "[memory]"},
                        {"ts", 1},
                        {"args",
                         {{"Total Allocated", 4096},
                          {"Total Reserved", 8192},
                          {"Bytes", 4096},
                          {"Addr", 1},
                          {"Device Type", 1},
                          {"Device Id", 0}}}};
    ASSERT_TRUE(write_file(file("t.json"), json{{"traceEvents", json::array({event})}}.dump()));
    const Ran ran = run("inspect " + file("t.json"));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("A profiler's trace has no frames"));
    EXPECT_THAT(ran.out, HasSubstr("4.00 KiB"));
}

TEST_F(Measured, what_cannot_be_read_is_told_in_a_line) {
    ASSERT_TRUE(write_file(file("x.pickle"), "\x80\x04}\x8c\x08segments\x93."));
    expect_error(run("inspect " + file("x.pickle")), 2,
                 "x.pickle: byte 13: the pickle instruction STACK_GLOBAL");
    ASSERT_TRUE(write_file(file("y.pickle"), "hello"));
    expect_error(run("inspect " + file("y.pickle")), 2, "y.pickle: ");
    expect_error(run("inspect " + file("none.pickle")), 2, "cannot open");
    expect_error(run("inspect " + file("g.graph.json") + " --plan " + file("g.graph.json")), 2, "--plan: ");
    const std::string path = snapshot("s.pickle");
    expect_error(run("inspect " + path + " --device-profile pcie4"), 2, "--device-profile: ");
    expect_error(run("inspect " + path + " --plan " + file("g.graph.json")), 2, "not a schedule");
    expect_error(run("draw " + path + " -o " + file("p.svg")), 2, "is a measurement by torch");
    expect_error(run("check " + file("g.graph.json") + " " + path), 2, "is a measurement by torch");
}

}  // namespace
}  // namespace rematlas
