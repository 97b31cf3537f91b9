// Tests the command line as a script sees it: standard output, standard error, exit status, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph_file.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/cli/command_line.h"
#include "tests/core/support/headed_step.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"
#include "tests/core/support/update_on_host.h"

namespace rematlas {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(CommandLine, every_command_has_help_with_an_example) {
    EXPECT_EQ(run("--help").exit, 0);
    for (const char* command : {"inspect", "decompose", "solve", "sweep", "check", "export", "draw", "report",
                                "serve", "diff", "config generate", "config check"}) {
        const Ran ran = run(std::string(command) + " --help");
        EXPECT_EQ(ran.exit, 0) << command;
        EXPECT_THAT(ran.out, HasSubstr("rematlas " + std::string(command))) << command;
    }
}

TEST_F(CommandLine, solve_prints_the_contract_and_writes_a_schedule_that_check_accepts) {
    const Ran solved = run("solve " + file("g.graph.json") +
                           " --budget 70% --time-limit 1h --gap 1 --json -o " + file("s.schedule.json"));
    ASSERT_EQ(solved.exit, 0) << solved.err;
    const json answer = json::parse(solved.out);
    for (const char* key : {"status", "solver", "overhead", "peak_bytes", "budget_bytes", "bound",
                            "bound_class", "gap", "bound_seconds", "nodes", "solve_seconds"})
        EXPECT_TRUE(answer.contains(key)) << key;
    EXPECT_EQ(answer["solver"], "atlas");
    EXPECT_EQ(answer["budget_bytes"], keep_all_peak(flatten(graph_)).value * 7 / 10);
    EXPECT_LE(answer["peak_bytes"], answer["budget_bytes"]);
    const Ran checked = run("check " + file("g.graph.json") + " " + file("s.schedule.json") + " --json");
    ASSERT_EQ(checked.exit, 0) << checked.err;
    EXPECT_EQ(json::parse(checked.out)["peak_bytes"], answer["peak_bytes"]);
    EXPECT_GE(json::parse(checked.out)["arena_bytes"], answer["peak_bytes"]);
    const Result<Schedule> schedule = read_schedule(file("s.schedule.json"));
    ASSERT_TRUE(schedule);
    EXPECT_EQ(schedule->graph_sha256, sha256(slurp(file("g.graph.json"))));
    ASSERT_TRUE(answer["bound_seconds"].is_number()) << "of atlas, which always has a bound";
    EXPECT_GT(answer["bound_seconds"], 0);
    EXPECT_TRUE(answer["nodes"].is_null() || answer["nodes"] >= 0);
    ASSERT_TRUE(schedule->bound);
    EXPECT_EQ(schedule->bound->seconds, answer["bound_seconds"]);
    EXPECT_EQ(schedule->bound->nodes.has_value(), answer["nodes"].is_number());
    EXPECT_THAT(run("solve " + file("g.graph.json") + " --budget 70% --time-limit 1h --gap 1").out,
                HasSubstr("; took "));
}

TEST_F(CommandLine, solve_ends_at_the_gap_asked_for) {
    const std::string solve = "solve " + file("g.graph.json") + " --budget 70% --json ";
    for (const std::string gap : {"100%", "1"}) {
        const Ran solved = run(solve + "--time-limit 1h --gap " + gap);
        ASSERT_EQ(solved.exit, 0) << solved.err;
        EXPECT_LE(json::parse(solved.out)["gap"], 1);
    }
    for (const std::string wrong : {"-0.1", "2", "101%", "nan", "0.1x", "%"})
        expect_error(run(solve + "--gap=" + wrong), 2, "--gap: '" + wrong + "'");
}

TEST_F(CommandLine, a_budget_of_the_arena_is_kept_by_the_planned_addresses) {
    Graph even = random_training_graph(11, {.forward_ops = 30, .unit = 64});
    ASSERT_TRUE(write_graph(even, file("g.graph.json")));
    const Ran solved =
        run("solve " + file("g.graph.json") + " --budget 80% --arena --time-limit 1h --gap 1 --json -o " +
            file("a.schedule.json"));
    ASSERT_EQ(solved.exit, 0) << solved.err;
    const json object = json::parse(solved.out);
    EXPECT_LE(object["arena_bytes"], object["budget_bytes"]);
    EXPECT_LE(object["peak_bytes"], object["arena_bytes"]);
    const std::string files = file("g.graph.json") + " " + file("a.schedule.json");
    const Ran checked = run("check " + files + " --json");
    ASSERT_EQ(checked.exit, 0) << checked.err;
    EXPECT_EQ(json::parse(checked.out)["arena_bytes"], object["arena_bytes"]);
    const std::string less = std::to_string(object["arena_bytes"].get<std::int64_t>() - 1);
    expect_error(run("check " + files + " --budget " + less), 1, "over the budget");
}

TEST_F(CommandLine, inspect_tells_the_parts_of_the_peak) {
    const Ran ran = run("inspect " + file("g.graph.json") + " --json");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const json object = json::parse(ran.out);
    std::int64_t sum = 0;
    for (const auto& [kind, bytes] : object["peak_parts"].items()) sum += bytes.get<std::int64_t>();
    EXPECT_EQ(sum, object["keep_all_peak_bytes"]);
    EXPECT_TRUE(object["peak_parts"].contains("workspace"));
}

TEST_F(CommandLine, inspect_tells_what_the_loss_head_takes_where_it_is_the_peak) {
    HeadedStep step = language_model_step();
    ASSERT_TRUE(write_graph(step.graph, file("head.graph.json")));
    const Ran ran = run("inspect " + file("head.graph.json") + " --json");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const json head = json::parse(ran.out)["loss_head"];
    EXPECT_EQ(head["bytes"], 3 * HeadedStep::kLogits);
    for (const json& one : head["in_chunks"])
        EXPECT_EQ(one["bytes"], 3 * HeadedStep::kLogits / one["chunks"].get<int>());
    EXPECT_THAT(run("inspect " + file("head.graph.json")).out, HasSubstr(head["text"].get<std::string>()));
    EXPECT_FALSE(json::parse(run("inspect " + file("g.graph.json") + " --json").out).contains("loss_head"));
}

TEST_F(CommandLine, inspect_tells_the_least_with_copies_where_there_is_a_link) {
    const Ran plain = run("inspect " + file("g.graph.json"));
    EXPECT_THAT(plain.out, HasSubstr("(without copies to the host)"));
    EXPECT_THAT(plain.out, Not(HasSubstr("may be on the host")));
    const Ran linked = run("inspect " + file("g.graph.json") + " --device-profile pcie4 --json");
    ASSERT_EQ(linked.exit, 0) << linked.err;
    const json object = json::parse(linked.out);
    EXPECT_EQ(object["least_peak_with_copies_bytes"],
              least_needed({graph_, flatten(graph_), {.what = Offload::all}}).value);
    EXPECT_LE(object["least_peak_with_copies_bytes"], object["least_peak_bytes"]);
    EXPECT_FALSE(json::parse(run("inspect " + file("g.graph.json") + " --json").out)
                     .contains("least_peak_with_copies_bytes"));
    expect_error(run("inspect " + file("g.graph.json") + " --device-profile pcie9"), 2, "--device-profile");
}

TEST_F(CommandLine, of_a_graph_captured_on_cuda_inspect_and_check_tell_what_the_allocator_takes) {
    graph_.device = Device{.name = "H200", .memory = {}, .allocator = CachingAllocatorOptions{true}};
    ASSERT_TRUE(write_graph(graph_, file("cuda.graph.json")));
    ASSERT_EQ(
        run("solve " + file("cuda.graph.json") + " --budget 100% --quiet -o " + file("s.schedule.json")).exit,
        0);
    const Ran checked = run("check " + file("cuda.graph.json") + " " + file("s.schedule.json") + " --json");
    const Ran inspected = run("inspect " + file("cuda.graph.json") + " --json");
    for (const json& told : {json::parse(checked.out), json::parse(inspected.out)}) {
        EXPECT_GT(told["allocated_peak_bytes"],
                  told.value("keep_all_peak_bytes", told.value("peak_bytes", 0)));
        EXPECT_GE(told["reserved_peak_bytes"], told["allocated_peak_bytes"]);
    }
    EXPECT_FALSE(
        json::parse(run("inspect " + file("g.graph.json") + " --json").out).contains("allocated_peak_bytes"));
}

TEST_F(CommandLine, an_impossible_budget_says_what_is_needed_and_where) {
    const Ran ran = run("solve " + file("g.graph.json") + " --budget 1 --json");
    EXPECT_EQ(ran.exit, 1);
    const json answer = json::parse(ran.out);
    EXPECT_EQ(answer["status"], "infeasible");
    EXPECT_GE(answer["needed_bytes"], least_peak(flatten(graph_)).bytes.value);
    EXPECT_FALSE(answer["dominant"]["tensors"].empty());
    expect_error(run("solve " + file("g.graph.json") + " --budget 1"), 1, "at least");
}

TEST_F(CommandLine, an_impossible_budget_is_answered_with_budgets_that_work) {
    const std::string solve = "solve " + file("g.graph.json") + " --time-limit 1h --gap 1 --budget ";
    const json works = json::parse(run(solve + "1 --json").out).at("works");
    const std::string bytes = std::to_string(works.at("bytes").get<std::int64_t>());
    const std::string share = works.at("share"), of_activations = works.at("share_of_activations");
    for (const std::string& budget : {bytes, share, "'" + of_activations + "'"}) {
        EXPECT_EQ(run(solve + budget).exit, 0) << budget;
        expect_error(run(solve + "1"), 1, budget);
    }
}

TEST_F(CommandLine, options_of_blocks_are_kept_for_the_next_run) {
    const auto solve = [&](const std::string& cache) {
        setenv("REMATLAS_CACHE", cache.c_str(), 1);
        const Ran ran =
            run("solve " + file("g.graph.json") +
                " --budget 80% --solver hiremate --time-limit 1h --json -o " + file("s.schedule.json"));
        setenv("REMATLAS_CACHE", "", 1);
        return json::parse(ran.out).at("overhead").get<double>();
    };
    const double overhead = solve("");
    EXPECT_FALSE(fs::exists(file("cache")));
    EXPECT_EQ(solve(file("cache")), overhead);
    ASSERT_FALSE(fs::is_empty(file("cache")));
    for (const auto& entry : fs::directory_iterator(file("cache"))) fs::resize_file(entry.path(), 20);
    EXPECT_EQ(solve(file("cache")), overhead);
    for (const auto& entry : fs::directory_iterator(file("cache"))) EXPECT_GT(entry.file_size(), 20u);
    EXPECT_EQ(solve(file("cache")), overhead);
}

TEST_F(CommandLine, nonsense_is_a_usage_error_that_names_the_flag_or_file) {
    const std::string g = file("g.graph.json");
    expect_error(run("solve " + g + " --budget 0"), 2, "--budget");
    expect_error(run("solve " + g + " --budget=-3GiB"), 2, "--budget");
    expect_error(run("solve " + g + " --budget lots"), 2, "lots");
    expect_error(run("solve " + g + " --budget 'of\ntwo lines'"), 2, "two lines");
    expect_error(run("inspect '/of\ntwo lines'"), 2, "two lines");
    expect_error(run("solve " + g), 2, "--budget");
    expect_error(run("solve " + g + " --budget 50% --solver magic"), 2, "magic");
    expect_error(run("solve " + g + " --budget 50% --time-limit never"), 2, "--time-limit");
    expect_error(run("solve " + g + " --budget 50% --threads 0"), 2, "--threads");
    expect_error(run("solve " + g + " --budget 50% --seed=-1"), 2, "--seed");
    expect_error(run("solve " + g + " --budget 50% --seed 99999999999999999999"), 2, "--seed");
    expect_error(run("solve " + file("none.graph.json") + " --budget 50%"), 2, "none.graph.json");
    expect_error(run("solve " + folder_.string() + " --budget 50%"), 2, "directory");
    expect_error(run("frobnicate"), 2, "frobnicate");
    expect_error(run("solve " + g + " --budget 100% -o /nowhere/at/all/s.json --solver dtr"), 2,
                 "/nowhere/at/all");
    expect_error(run("sweep " + g + " --solver atlas,magic"), 2, "magic");
    expect_error(run("sweep " + g + " --budgets 0"), 2, "--budgets");
    expect_error(run("sweep " + g + " --budgets 3 --budget 60%"), 2, "--budget");
    expect_error(run("sweep " + g + " --solver rotor,rotor"), 2, "twice");
    expect_error(run("sweep " + g + " --plot picture.bmp -o " + file("early.sweep.json")), 2, "picture.bmp");
    EXPECT_FALSE(fs::exists(file("early.sweep.json")));
    expect_error(run("sweep " + g + " --offload none,some"), 2, "'some'");
    expect_error(run("sweep " + g + " --offload all,all --device-profile pcie4"), 2, "twice");
    expect_error(run("sweep " + g + " --solver rotor --offload none,all --device-profile pcie4"), 2, "rotor");
    expect_error(run("sweep " + g + " --offload none --device-profile pcie4"), 2, "--device-profile");
    expect_error(run("solve " + g + " --budget 0.6"), 2, "60%");
    expect_error(run("solve " + g + " --budget 50% --gap ''"), 2, "--gap");
    expect_error(run("decompose " + g + " --partition ''"), 2, "--partition");
    expect_error(run("decompose " + g + " --partition magic"), 2, "bottom-up");
    expect_error(run("config generate magic"), 2, "offmate");
    expect_error(run("draw " + g + " -o picture.bmp"), 2, "picture.bmp");
}

TEST_F(CommandLine, a_broken_graph_file_is_refused_by_every_command_that_reads_one) {
    ASSERT_TRUE(write_file(file("cut.graph.json"), slurp(file("g.graph.json")).substr(0, 500)));
    for (const std::string command :
         {"inspect ", "decompose ", "sweep ", "solve --budget 50% ", "draw -o p.svg "})
        expect_error(run(command + file("cut.graph.json")), 2, "cut.graph.json");
    EXPECT_FALSE(fs::exists("p.svg"));
}

TEST_F(CommandLine, check_tells_what_goes_on_beside_compute) {
    Graph graph = small_graph();
    graph.device = Device{.name = "d",
                          .memory = Bytes(0),
                          .links = {.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 1e10}};
    ASSERT_TRUE(write_graph(graph, file("links.graph.json")));
    Schedule schedule;
    schedule.graph_sha256 = graph.sha256;
    schedule.host_budget = Bytes(100);
    schedule.steps = {Step::run(OpId(0)), Step::offload(TensorId(1)), Step::run(OpId(1)),
                      Step::run(OpId(2)), Step::free(TensorId(1)),    Step::fetch(TensorId(1)),
                      Step::run(OpId(3)), Step::run(OpId(4))};
    ASSERT_TRUE(write_schedule(schedule, file("copies.schedule.json")));
    const std::string check = "check " + file("links.graph.json") + " " + file("copies.schedule.json");
    const Ran told = run(check);
    ASSERT_EQ(told.exit, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("host: peak 100 B (100 bytes, at step 1) of 100 B"));
    EXPECT_THAT(told.out, HasSubstr("to the device: 100 B in 10 ns, busy 16.7 % of the step"));
    const Ran object = run(check + " --json");
    ASSERT_EQ(object.exit, 0) << object.err;
    const json answer = json::parse(object.out);
    EXPECT_EQ(answer["time_ns"], 60);
    EXPECT_EQ(answer["host_peak_bytes"], 100);
    EXPECT_EQ(answer["host_budget_bytes"], 100);
    EXPECT_EQ(answer["to_host"], json({{"bytes", 100}, {"busy_ns", 10}}));
    EXPECT_EQ(answer["to_device"], json({{"bytes", 100}, {"busy_ns", 10}}));
    EXPECT_EQ(answer["host_ops"], json({{"runs", 0}, {"busy_ns", 0}}));
    expect_error(run(check + " --host-budget 99"), 1, "peak on the host");
    expect_error(run(check + " --host-budget lots"), 2, "--host-budget");
}

TEST_F(CommandLine, copies_are_asked_for_by_flags_that_errors_name) {
    const std::string graph = file("g.graph.json") + " --budget 100% --time-limit 1s ";
    for (const std::string command : {"solve ", "sweep "}) {
        expect_error(run(command + graph + "--offload activations"), 2, "--device-profile");
        expect_error(run(command + graph + "--offload activations --device-profile h200 --solver rotor"), 2,
                     "solver rotor does not plan");
        expect_error(run(command + graph + "--offload everything"), 2, "--offload");
        expect_error(run(command + graph + "--offload all --device-profile cpu"), 2, "--device-profile");
        expect_error(run(command + graph + "--offload all --device-profile nowhere"), 2, "--device-profile");
        expect_error(run(command + graph + "--host-budget 1GiB"), 2, "--host-budget");
    }
    const Ran with = run("solve " + graph + "--offload activations --device-profile h200 --json");
    ASSERT_EQ(with.exit, 0) << with.err;
    EXPECT_EQ(json::parse(with.out)["bound_class"],
              "any order, any reruns, copies of activations to the host");
    const Ran without = run("solve " + graph + "--json");
    ASSERT_EQ(without.exit, 0) << without.err;
    EXPECT_EQ(json::parse(without.out)["to_host_bytes"], 0);
    EXPECT_EQ(json::parse(without.out)["host_peak_bytes"], 0);
}

TEST_F(CommandLine, copies_go_over_links_that_have_a_name) {
    const Ran config = run("config generate offmate");
    ASSERT_EQ(config.exit, 0) << config.err;
    EXPECT_TRUE(json::parse(config.out)["options"].contains("copy_price"));
    const Ran solved =
        run("solve " + file("g.graph.json") + " --solver offmate --offload activations --device-profile " +
            "pcie5 --budget 70% --time-limit 20s --json -o " + file("copies.schedule.json"));
    ASSERT_EQ(solved.exit, 0) << solved.err;
    const json answer = json::parse(solved.out);
    EXPECT_LE(answer["peak_bytes"], answer["budget_bytes"]);
    const Ran checked = run("check " + file("g.graph.json") + " " + file("copies.schedule.json"));
    EXPECT_EQ(checked.exit, 0) << checked.err;
}

TEST_F(CommandLine, check_judges_by_the_links_that_the_schedule_names) {
    Graph graph = small_graph();
    ASSERT_TRUE(write_graph(graph, file("g.graph.json")));
    Schedule schedule;
    schedule.graph_sha256 = graph.sha256;
    schedule.links = Links{.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 5e9};
    schedule.steps = {Step::run(OpId(0)), Step::offload(TensorId(1)), Step::run(OpId(1)),
                      Step::run(OpId(2)), Step::free(TensorId(1)),    Step::fetch(TensorId(1)),
                      Step::run(OpId(3)), Step::run(OpId(4))};
    ASSERT_TRUE(write_schedule(schedule, file("copies.schedule.json")));
    const Ran told = run("check " + file("g.graph.json") + " " + file("copies.schedule.json") + " --json");
    ASSERT_EQ(told.exit, 0) << told.err;
    EXPECT_EQ(json::parse(told.out)["time_ns"], 70) << "20 ns of waiting for the copy back";
    if (REMATLAS_DRAWS) {
        EXPECT_EQ(run("draw " + file("copies.schedule.json") + " -o " + file("p.svg")).exit, 0);
    }
}

TEST_F(CommandLine, check_refuses_a_time_or_a_gap_that_was_edited) {
    const std::string solve = "solve " + file("g.graph.json") + " --budget 70% --time-limit 1h --gap 1 -o ";
    ASSERT_EQ(run(solve + file("s.schedule.json")).exit, 0);
    const json schedule = json::parse(slurp(file("s.schedule.json")));
    ASSERT_TRUE(schedule["bound"].is_object());
    const auto checked = [&](const json& edited) {
        std::ofstream(file("edited.schedule.json")) << edited;
        return run("check " + file("g.graph.json") + " " + file("edited.schedule.json"));
    };
    EXPECT_EQ(checked(schedule).exit, 0);
    for (const std::int64_t wrong : {-1, 1, 10'000'000}) {
        json edited = schedule;
        edited["predicted"]["time_ns"] = edited["predicted"]["time_ns"].get<std::int64_t>() + wrong;
        expect_error(checked(edited), 1, "the time is");
    }
    json edited = schedule;
    edited["bound"]["gap"] = -1;
    expect_error(checked(edited), 1, "the gap to the bound");
    edited["bound"].erase("gap");
    EXPECT_EQ(checked(edited).exit, 0) << "it follows from the overhead and the bound";
}

TEST_F(CommandLine, check_names_the_step_and_exits_1) {
    ASSERT_EQ(run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " +
                  file("s.schedule.json"))
                  .exit,
              0);
    json schedule = json::parse(slurp(file("s.schedule.json")));
    schedule["steps"].erase(0);
    ASSERT_TRUE(write_file(file("s.schedule.json"), schedule.dump()));
    expect_error(run("check " + file("g.graph.json") + " " + file("s.schedule.json")), 1, "step ");
}

TEST_F(CommandLine, pins_are_obeyed_written_and_checked) {
    const std::string solve = "solve " + file("g.graph.json") + " --budget 100% --time-limit 1h --gap 1 ";
    const Ran solved =
        run(solve + "'--pin' '#2=recompute' --pin '#4=keep' --json -o " + file("s.schedule.json"));
    ASSERT_EQ(solved.exit, 0) << solved.err;
    const json pins = json::parse(R"([["#2", "recompute"], ["#4", "keep"]])");
    EXPECT_EQ(json::parse(solved.out)["pins"], pins);
    EXPECT_EQ(json::parse(slurp(file("s.schedule.json")))["pins"], pins);
    EXPECT_EQ(run("check " + file("g.graph.json") + " " + file("s.schedule.json")).exit, 0);
    EXPECT_THAT(run(solve + "--pin '#2=recompute'").out,
                AllOf(HasSubstr("#2=recompute"), HasSubstr("under the pins")));

    json other = json::parse(slurp(file("s.schedule.json")));
    other["pins"] = json::parse(R"([["#2", "keep"]])");
    ASSERT_TRUE(write_file(file("other.schedule.json"), other.dump()));
    expect_error(run("check " + file("g.graph.json") + " " + file("other.schedule.json")), 1, "step ");
    expect_error(run("check " + file("g.graph.json") + " " + file("other.schedule.json")), 1, "#2=keep");
    other["pins"] = json::parse(R"([["#2", "perhaps"]])");
    ASSERT_TRUE(write_file(file("other.schedule.json"), other.dump()));
    expect_error(run("check " + file("g.graph.json") + " " + file("other.schedule.json")), 2, "pins[0]");
}

TEST_F(CommandLine, pins_that_cannot_be_obeyed_are_usage_errors_and_a_budget_too_small_is_a_no) {
    for (const std::string command : {"solve --budget 100% ", "sweep --solver keep-all "}) {
        expect_error(run(command + file("g.graph.json") + " --pin nowhere=keep"), 2, "nowhere=keep");
        expect_error(run(command + file("g.graph.json") + " --pin '#2'"), 2, "--pin");
        expect_error(run(command + file("g.graph.json") + " --pin '#2=keep' --pin '#2=recompute'"), 2,
                     "contradict");
    }
    std::string all_kept;
    for (OpId op : graph_.ops.ids()) all_kept += " --pin '#" + std::to_string(op.value) + "=keep'";
    const std::string solve = "solve " + file("g.graph.json") + " --budget 80% --time-limit 4s";
    ASSERT_EQ(run(solve + " --gap 1").exit, 0);
    const Ran pinned = run(solve + all_kept + " --json");
    EXPECT_EQ(pinned.exit, 1);
    const json answer = json::parse(pinned.out);
    EXPECT_EQ(answer["status"], "infeasible");
    EXPECT_LE(answer["without_pins_bytes"], answer["budget_bytes"]);
    const std::string enough = std::to_string(answer["under_pins_bytes"].get<std::int64_t>());
    EXPECT_EQ(
        run("solve " + file("g.graph.json") + " --time-limit 1h --gap 1 --budget " + enough + all_kept).exit,
        0);
    EXPECT_THAT(run(solve + all_kept).err,
                AllOf(HasSubstr("under them"), HasSubstr("bytes) is known to be enough")));
}

TEST_F(CommandLine, check_refuses_a_schedule_of_another_graph) {
    Graph other = random_training_graph(12);
    ASSERT_TRUE(write_graph(other, file("other.graph.json")));
    ASSERT_EQ(run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " +
                  file("s.schedule.json"))
                  .exit,
              0);
    expect_error(run("check " + file("other.graph.json") + " " + file("s.schedule.json")), 1,
                 "another graph");
}

TEST_F(CommandLine, sweep_has_a_curve_for_each_of_what_may_be_copied) {
    const Ran ran =
        run("sweep " + file("g.graph.json") +
            " --offload none,activations --device-profile pcie4 --budgets 3 --time-limit 1s --json");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const json curves = json::parse(ran.out)["curves"];
    ASSERT_EQ(curves.size(), 2u);
    EXPECT_FALSE(curves[0].contains("offload"));
    EXPECT_EQ(curves[1]["offload"], "activations");
    EXPECT_EQ(curves[1]["links"]["to_host_bytes_per_second"], 25e9);
}

TEST_F(CommandLine, sweep_writes_its_file_and_prints_the_same_object) {
    const Ran ran =
        run("sweep " + file("g.graph.json") +
            " --solver keep-all,dtr,chen-sqrt --budgets 5 --time-limit 1s --json -o " + file("g.sweep.json"));
    ASSERT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(json::parse(ran.out), json::parse(slurp(file("g.sweep.json"))));
    EXPECT_EQ(json::parse(ran.out)["curves"].size(), 3u);
}

TEST_F(CommandLine, export_writes_each_form_and_refuses_a_plan_of_a_graph_without_replay) {
    ASSERT_EQ(
        run("solve " + file("g.graph.json") + " --budget 80% --solver dtr -o " + file("s.schedule.json"))
            .exit,
        0);
    for (const char* format : {"chrome-trace", "csv", "dot"}) {
        const Ran ran = run("export " + file("s.schedule.json") + " --format " + format + " -o " + file("e"));
        EXPECT_EQ(ran.exit, 0) << ran.err;
        EXPECT_GT(fs::file_size(file("e")), 100u);
    }
    expect_error(run("export " + file("s.schedule.json") + " -o " + file("x.plan")), 2, "nothing to replay");
    EXPECT_FALSE(fs::exists(file("x.plan")));
    fs::remove(file("g.graph.json"));
    expect_error(run("export " + file("s.schedule.json") + " --format csv -o " + file("e")), 2, "--graph");
}

TEST_F(CommandLine, export_writes_tables_of_steps_blocks_tensors_and_points) {
    ASSERT_EQ(
        run("solve " + file("g.graph.json") + " --budget 80% --solver dtr -o " + file("s.schedule.json"))
            .exit,
        0);
    ASSERT_EQ(run("sweep " + file("g.graph.json") + " --solver dtr,keep-all --budgets 3 --time-limit 1s -o " +
                  file("s.sweep.json"))
                  .exit,
              0);
    const auto lines = [&](const std::string& arguments) {
        const Ran ran = run("export --format csv " + arguments + " -o " + file("t.csv"));
        EXPECT_EQ(ran.exit, 0) << ran.err;
        const std::string text = slurp(file("t.csv"));
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    const Result<Schedule> schedule = read_schedule(file("s.schedule.json"));
    EXPECT_EQ(lines(file("s.schedule.json")), schedule->steps.size() + 1);
    EXPECT_EQ(lines(file("s.schedule.json") + " --table tensors"), graph_.tensors.size() + 1);
    EXPECT_GT(lines(file("s.schedule.json") + " --table blocks"), 2u);
    EXPECT_THAT(slurp(file("t.csv")), StartsWith("depth,path,ops,time_ns,"));
    EXPECT_GT(lines(file("s.sweep.json")), 3u);
    EXPECT_THAT(slurp(file("t.csv")),
                StartsWith("solver,budget_bytes,status,peak_bytes,overhead,bound,gap,offload\n"));
    expect_error(run("export " + file("s.schedule.json") + " --format csv --table rows -o " + file("n")), 2,
                 "--table");
    expect_error(run("export " + file("s.sweep.json") + " -o " + file("n")), 2, "--format csv");
    EXPECT_FALSE(fs::exists(file("n")));
}

TEST_F(CommandLine, report_tells_the_figures_of_check_and_writes_nothing_on_a_schedule_that_fails) {
    if (!REMATLAS_DRAWS) GTEST_SKIP() << "this build draws no pictures";
    const std::string sweep =
        "sweep " + file("g.graph.json") + " --solver dtr --budgets 3 --time-limit 1s -o ";
    ASSERT_EQ(
        run("solve " + file("g.graph.json") + " --budget 80% --solver dtr -o " + file("s.schedule.json"))
            .exit,
        0);
    ASSERT_EQ(run(sweep + file("s.sweep.json")).exit, 0);
    const std::string both = file("s.schedule.json") + " " + file("s.sweep.json");
    for (const std::string& files : {file("s.schedule.json"), file("s.sweep.json"), both}) {
        const Ran ran = run("report " + files + " --json -o " + file("r.html"));
        ASSERT_EQ(ran.exit, 0) << ran.err;
        EXPECT_EQ(json::parse(ran.out)["file"], file("r.html"));
    }
    const json checked =
        json::parse(run("check " + file("g.graph.json") + " " + file("s.schedule.json") + " --json").out);
    EXPECT_THAT(
        slurp(file("r.html")),
        HasSubstr("<data value=\"" + std::to_string(checked["peak_bytes"].get<std::int64_t>()) + "\">"));
    const std::string all = file("g.graph.json") + " " + both + " " + both;
    for (const std::string& files : {file("g.graph.json"), all})
        EXPECT_EQ(run("report " + files + " -o " + file("r.html")).exit, 0) << files;
    Graph other = graph_;
    other.ops[OpId(0)].time += Nanoseconds(1);
    ASSERT_TRUE(write_graph(other, file("other.graph.json")));
    expect_error(run("report " + file("other.graph.json") + " " + both + " -o " + file("n.html")), 2,
                 "s.schedule.json: is of another graph");
    expect_error(
        run("report " + file("g.graph.json") + " " + file("other.graph.json") + " -o " + file("n.html")), 2,
        "a report is on one graph");
    expect_error(run("report " + file("g.graph.json") + " --graph " + file("other.graph.json") + " -o " +
                     file("n.html")),
                 2, "other.graph.json: is of another graph");
    json broken = json::parse(slurp(file("s.schedule.json")));
    broken["steps"].erase(0);
    ASSERT_TRUE(write_file(file("s.schedule.json"), broken.dump()));
    expect_error(run("report " + file("s.schedule.json") + " -o " + file("n.html")), 1, "step ");
    EXPECT_FALSE(fs::exists(file("n.html")));
}

TEST_F(CommandLine, draw_shows_the_runs_of_graphs_schedules_and_plans_as_a_flame_chart) {
    if (!REMATLAS_DRAWS) GTEST_SKIP() << "this build draws no pictures";
    const std::string s = file("s.schedule.json");
    fs::copy_file(REMATLAS_SOURCE_DIR "/resources/graphs/gpt.graph.json", file("g.graph.json"),
                  fs::copy_options::overwrite_existing);
    ASSERT_EQ(run("solve " + file("g.graph.json") + " --budget 80% --solver dtr -o " + s).exit, 0);
    ASSERT_EQ(run("export " + s + " -o " + file("s.plan")).exit, 0);
    for (const std::string& drawn :
         {file("g.graph.json"), s, file("s.plan"), file("g.graph.json") + " --schedule " + s}) {
        const Ran ran = run("draw " + drawn + " --as flame -o " + file("flame.svg"));
        ASSERT_EQ(ran.exit, 0) << ran.err;
        EXPECT_THAT(slurp(file("flame.svg")), AllOf(HasSubstr(">forward<"), HasSubstr(">backward<")))
            << drawn;
    }
    ASSERT_EQ(run("sweep " + file("g.graph.json") + " --solver dtr --budgets 3 --time-limit 1s -o " +
                  file("s.sweep.json"))
                  .exit,
              0);
    expect_error(run("draw " + file("s.sweep.json") + " --as flame -o " + file("n.svg")), 2, "--as flame");
    EXPECT_EQ(run("draw " + s + " --as smoke -o " + file("n.svg")).exit, 2);
    EXPECT_FALSE(fs::exists(file("n.svg")));
}

TEST_F(CommandLine, what_is_read_is_not_written_over) {
    const std::string graph = slurp(file("g.graph.json"));
    ASSERT_EQ(run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " +
                  file("k.schedule.json"))
                  .exit,
              0);
    const std::string schedule = slurp(file("k.schedule.json"));
    const std::string wrong[] = {
        "solve " + file("g.graph.json") + " --budget 100% -o " + file("g.graph.json"),
        "sweep " + file("g.graph.json") + " --solver keep-all -o " + file("g.graph.json"),
        "export " + file("k.schedule.json") + " --format csv -o " + file("k.schedule.json"),
        "report " + file("k.schedule.json") + " -o " + file("./k.schedule.json")};
    for (const std::string& words : wrong) expect_error(run(words), 2, "would be lost");
    EXPECT_EQ(slurp(file("g.graph.json")), graph);
    EXPECT_EQ(slurp(file("k.schedule.json")), schedule);
}

TEST_F(CommandLine, diff_counts_the_ops_that_run_differently) {
    ASSERT_EQ(run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " +
                  file("a.schedule.json"))
                  .exit,
              0);
    ASSERT_EQ(
        run("solve " + file("g.graph.json") + " --budget 80% --solver dtr -o " + file("b.schedule.json"))
            .exit,
        0);
    EXPECT_TRUE(json::parse(run("diff " + file("a.schedule.json") + " " + file("a.schedule.json") + " --json")
                                .out)["same_steps"]);
    const json different =
        json::parse(run("diff " + file("a.schedule.json") + " " + file("b.schedule.json") + " --json").out);
    EXPECT_FALSE(different["same_steps"]);
    ASSERT_FALSE(different["ops"].empty());
    EXPECT_GT(different["time_ns"], 0);
    EXPECT_LT(different["peak_bytes"], 0);
    EXPECT_EQ(different["time_ns"],
              different["more_time_ns"].get<std::int64_t>() - different["fewer_time_ns"].get<std::int64_t>());
    if (REMATLAS_DRAWS) {
        ASSERT_EQ(run("diff " + file("a.schedule.json") + " " + file("b.schedule.json") + " --plot " +
                      file("d.svg"))
                      .exit,
                  0);
        EXPECT_NE(slurp(file("d.svg")).find("only in b"), std::string::npos);
    }
    const std::string words = run("diff " + file("a.schedule.json") + " " + file("b.schedule.json")).out;
    EXPECT_NE(words.find(" more and needs "), std::string::npos) << words;
    fs::remove(file("g.graph.json"));
    const json without =
        json::parse(run("diff " + file("a.schedule.json") + " " + file("b.schedule.json") + " --json").out);
    EXPECT_FALSE(without["ops"].empty()) << "which ops run more often can be said without the graph";
    EXPECT_FALSE(without.contains("time_ns"));
    expect_error(run("diff " + file("a.schedule.json") + " " + file("b.schedule.json") + " --graph " +
                     file("gone.graph.json")),
                 2, "gone.graph.json");
}

TEST_F(CommandLine, diff_tells_what_is_done_with_the_host) {
    Graph graph = graph_with_update();
    ASSERT_TRUE(write_graph(graph, file("u.graph.json")));
    for (auto [schedule, name] :
         {std::pair(with_update_on_device(), "a"), std::pair(with_update_on_host(), "b")}) {
        schedule.graph_sha256 = graph.sha256;
        schedule.solver = "hand", schedule.status = "feasible", schedule.host_peak = Bytes(100);
        ASSERT_TRUE(write_schedule(schedule, file(std::string(name) + ".schedule.json")));
    }
    const std::string both = file("a.schedule.json") + " " + file("b.schedule.json");
    const json found = json::parse(run("diff " + both + " --json").out);
    EXPECT_EQ(found["left_device"], 1);
    EXPECT_EQ(found["fewer_runs"], 0);
    EXPECT_EQ(found["b"]["host_runs"], 1);
    EXPECT_EQ(found["b"]["to_host_bytes"], 200);
    EXPECT_EQ(found["a"]["to_device_bytes"], 100);
    EXPECT_EQ(found["a"]["links"]["to_host_bytes_per_second"], 1e9);
    const std::string words = run("diff " + both).out;
    for (const char* said :
         {"it runs 1 update on the host", "1 -> host", "host updates", "to device", "1 GB/s"})
        EXPECT_THAT(words, HasSubstr(said));
    fs::remove(file("u.graph.json"));
    EXPECT_THAT(run("diff " + both).out, HasSubstr("1 -> host"));
}

TEST_F(CommandLine, a_configuration_goes_from_generate_to_solve) {
    ASSERT_EQ(run("config generate dtr -o " + file("c.json")).exit, 0);
    json config = json::parse(slurp(file("c.json")));
    config["options"]["heuristic"] = "lru";
    ASSERT_TRUE(write_file(file("c.json"), config.dump()));
    EXPECT_EQ(run("config check " + file("c.json")).exit, 0);
    const Ran solved =
        run("solve " + file("g.graph.json") + " --budget 90% --json --config " + file("c.json"));
    ASSERT_EQ(solved.exit, 0) << solved.err;
    EXPECT_EQ(json::parse(solved.out)["solver"], "dtr");
    expect_error(
        run("solve " + file("g.graph.json") + " --budget 90% --solver rotor --config " + file("c.json")), 2,
        "rotor");
    config["options"]["heuristic"] = "astrology";
    ASSERT_TRUE(write_file(file("c.json"), config.dump()));
    expect_error(run("solve " + file("g.graph.json") + " --budget 90% --config " + file("c.json")), 2,
                 "heuristic");
}

TEST_F(CommandLine, dtr_simulates_a_log) {
    const std::string log = R"({"INSTRUCTION":"CALL","NAME":"a","ARGS":[],"RESULT":["a"],"TIME":"1"}
{"INSTRUCTION":"MEMORY","NAME":"a","MEMORY":"6"}
{"INSTRUCTION":"ALIAS","NAME":"a","ALIAS":"-1"}
{"INSTRUCTION":"CALL","NAME":"b","ARGS":["a"],"RESULT":["b"],"TIME":"2"}
{"INSTRUCTION":"MEMORY","NAME":"b","MEMORY":"4"}
{"INSTRUCTION":"ALIAS","NAME":"b","ALIAS":"-1"}
{"INSTRUCTION":"CALL","NAME":"c","ARGS":["b"],"RESULT":["c"],"TIME":"1"}
{"INSTRUCTION":"MEMORY","NAME":"c","MEMORY":"6"}
{"INSTRUCTION":"ALIAS","NAME":"c","ALIAS":"-1"}
{"INSTRUCTION":"RELEASE","NAME":"c"}
)";
    ASSERT_TRUE(write_file(file("t.log"), log));
    const Ran one = run("dtr " + file("t.log") + " --budget 10 --heuristic lru --json");
    EXPECT_EQ(one.exit, 0) << one.err;
    const json answer = json::parse(one.out);
    EXPECT_EQ(answer["status"], "ok");
    EXPECT_EQ(answer["unbounded_peak_bytes"], 16);
    EXPECT_EQ(answer["peak_bytes"], 10);
    EXPECT_EQ(answer["overhead"], 1.25);
    EXPECT_EQ(answer["evictions"], 1);
    EXPECT_EQ(answer["rematerializations"], 1);
    const Ran several = run("dtr " + file("t.log") + " --ratio 1,0.2 --json");
    EXPECT_EQ(several.exit, 1);
    EXPECT_EQ(json::parse(several.out)["points"][0]["status"], "ok");
    EXPECT_EQ(json::parse(several.out)["points"][1]["status"], "oom");
    expect_error(run("dtr " + file("g.graph.json")), 2, "line 1");
    expect_error(run("dtr " + file("t.log") + " --heuristic best"), 2, "--heuristic");
    expect_error(run("dtr " + file("t.log") + " --ratio nan"), 2, "--ratio");
    expect_error(run("dtr " + file("t.log") + " --thrash nan"), 2, "--thrash");
    expect_error(run("dtr " + file("t.log") + " --ratio 0.5 --budget 3"), 2, "--budget");
}

TEST_F(CommandLine, maxbatch_names_the_flag_that_is_wrong) {
    expect_error(run("maxbatch m.pt --input 'f32[8,4]' --budget 1GiB"), 2, "none has a dimension B");
    expect_error(run("maxbatch m.pt --input 'f32[B,4]' --budget 60%"), 2, "--budget: '60%'");
    expect_error(run("maxbatch m.pt --input 'f32[B,4]' --budget 1GiB --max-overhead 0.5"), 2,
                 "--max-overhead");
    expect_error(run("maxbatch m.pt --input 'f32[B,4]' --budget 1GiB --solver none"), 2, "none");
    const std::string copies =
        "maxbatch " + file("m.pt") + " --input 'f32[B,4]' --budget 1GiB --offload all ";
    expect_error(run(copies), 2, "--offload: a cpu has no links to a host; --device-profile names some");
    expect_error(run(copies + "--device-profile nowhere"), 2, "--device-profile: ");
#if REMATLAS_HAS_RUNTIME
    expect_error(run("maxbatch " + file("m.pt") + " --input 'f32[B,4]' --budget 1GiB"), 2, "batch 2: ");
    // The profile pcie4 has only links, so the capture ignores it. The capture fails because of m.pt.
    expect_error(run(copies + "--device-profile pcie4"), 2, "m.pt");
#else
    expect_error(run("maxbatch m.pt --input 'f32[B,4]' --budget 1GiB"), 2, "rematlas-runtime");
#endif
}

TEST_F(CommandLine, the_runtime_is_needed_by_capture_run_and_links_only) {
#if REMATLAS_HAS_RUNTIME
    EXPECT_EQ(run("capture --help").exit, 0);
    EXPECT_EQ(run("run --help").exit, 0);
    EXPECT_EQ(run("links --help").exit, 0);
#else
    expect_error(run("capture m.pt --input 'f32[1]' -o g.graph.json"), 2, "libtorch");
#endif
    const Ran linked = [&] {
        const std::string command = "ldd " REMATLAS_PROGRAM " >" + file("out");
        return Ran{std::system(command.c_str()), slurp(file("out")), ""};
    }();
    for (const char* library : {"libtorch", "libc10", "libQt", "libgvc", "libcgraph"})
        EXPECT_EQ(linked.out.find(library), std::string::npos) << library;
}

}  // namespace
}  // namespace rematlas
