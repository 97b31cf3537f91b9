// Damaged files must never crash a reader, and a file with broken contents must never count as valid. The
// tests make a few thousand random edits of each format. The targets in tests/fuzz search further, guided by
// coverage.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/dtr/evict_online.h"
#include "core/dtr/trace_log.h"
#include "core/graph/graph_file.h"
#include "core/planning/config.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule_file.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Feeds random edits of `text` to `read`, which returns the message of the error, or nothing.
void expect_survives(const std::string& text, const std::function<std::string(const std::string&)>& read) {
    ASSERT_EQ(read(text), "");
    std::uint64_t state = 1;
    const auto next = [&state](std::uint64_t n) {
        return state = state * 6364136223846793005ull + 1442695040888963407ull, (state >> 33) % n;
    };
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = text;
        for (std::uint64_t i = 0; i <= next(3); ++i) {
            if (next(4) == 0)
                damaged.erase(next(damaged.size()), next(20));
            else
                damaged[next(damaged.size())] = "0123456789-[]{},:\"e.x\n"[next(22)];
        }
        const std::string message = read(damaged);
        refused += !message.empty();
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
    EXPECT_GT(refused, 200);
}

template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "" : result.error().message;
}

struct Samples {
    Graph graph = random_training_graph(3);
    Schedule schedule;

    Samples() {
        const FlatGraph flat = flatten(graph);
        graph.replay = std::make_shared<const nlohmann::json>(nlohmann::json::object());
        graph.sha256 = sha256(graph_text(graph));
        schedule.graph = graph.name;
        schedule.graph_sha256 = graph.sha256;
        schedule.steps = lower(flat, keep_all_sequence(flat));
        schedule.pins = {{"#1", PinKind::keep}, {"*", PinKind::keep}};
    }
};

TEST(DamagedFiles, graph) {
    expect_survives(graph_text(Samples().graph), [](const std::string& text) {
        const Result<Graph> read = parse_graph(text, "g");
        if (read) {
            EXPECT_TRUE(validate(*read));
        }
        return message_of(read);
    });
}

TEST(DamagedFiles, schedule_and_its_check) {
    const Samples samples;
    expect_survives(schedule_text(samples.schedule), [&](const std::string& text) {
        const Result<Schedule> read = parse_schedule(text, "s");
        if (read) check(samples.graph, *read);
        return message_of(read);
    });
}

TEST(DamagedFiles, plan) {
    const Samples samples;
    const std::string graph = graph_text(samples.graph), schedule = schedule_text(samples.schedule);
    const nlohmann::json head = {{"format", "rematlas.plan"},
                                 {"version", 1},
                                 {"graph_bytes", graph.size()},
                                 {"schedule_bytes", schedule.size()}};
    expect_survives(head.dump() + "\n" + graph + schedule,
                    [](const std::string& bytes) { return message_of(parse_plan(bytes, "p")); });
}

TEST(DamagedFiles, sweep) {
    const SweepPoint point{.budget = Bytes(10),
                           .status = "feasible",
                           .peak = Bytes(9),
                           .overhead = 1.5,
                           .bound = Bound{1.2, 0.25, ScheduleClass::any_order, 0.5, 7},
                           .steps = {}};
    const Sweep sweep{"g", "ab", {{"atlas", {point, point}}}};
    expect_survives(sweep_text(sweep),
                    [](const std::string& text) { return message_of(parse_sweep(text, "w")); });
}

TEST(DamagedFiles, trace_log_and_its_simulation) {
    const std::string log = R"({"INSTRUCTION":"CONSTANT","NAME":"w"}
{"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"8"}
{"INSTRUCTION":"CALL","NAME":"mm","ARGS":["w"],"RESULT":["y","v"],"TIME":"5"}
{"INSTRUCTION":"MEMORY","NAME":"y","MEMORY":"4"}
{"INSTRUCTION":"ALIAS","NAME":"y","ALIAS":"-1"}
{"INSTRUCTION":"MEMORY","NAME":"v","MEMORY":"8"}
{"INSTRUCTION":"ALIAS","NAME":"v","ALIAS":"0"}
{"INSTRUCTION":"COPY","DST":"z","SRC":"y"}
{"INSTRUCTION":"MUTATE","NAME":"add_","ARGS":["y","w"],"MUTATE":[0],"TIME":"2"}
{"INSTRUCTION":"COPY_FROM","DST":"v","SRC":"z"}
{"INSTRUCTION":"RELEASE","NAME":"z"}
)";
    expect_survives(log, [](const std::string& text) {
        const Result<Trace> read = parse_trace_log(text, "l");
        if (read) {
            const Bytes budget(unbounded_peak(*read).value / 2);
            EXPECT_LE(evict_online(*read, budget, {.thrash = 2}).peak, budget);
        }
        return message_of(read);
    });
}

TEST(DamagedFiles, config) {
    expect_survives(*generate_config("dtr"),
                    [](const std::string& text) { return message_of(parse_config(text, "c")); });
}

TEST(DamagedFiles, graph_and_schedule_with_links_and_homes) {
    const Graph graph = random_graph_with_links(2);
    expect_survives(graph_text(graph),
                    [](const std::string& text) { return message_of(parse_graph(text, "g")); });
    Schedule schedule = random_schedule_with_copies(graph, 2);
    schedule.homes.cyclic = true;
    schedule.host_budget = schedule.host_peak = Bytes(100);
    expect_survives(schedule_text(schedule), [&](const std::string& text) {
        const Result<Schedule> read = parse_schedule(text, "s");
        if (read) {
            check(graph, *read);
            EXPECT_EQ(parse_schedule(schedule_text(*read), "s")->homes, read->homes);
            if (const Result<Simulation> played = simulate(graph, *read); !played) {
                EXPECT_NE(played.error().message, "");
            }
        }
        return message_of(read);
    });
}

/// The seeds of the fuzzers (tests/fuzz/seeds) can be read, and have pins if their format has pins.
TEST(DamagedFiles, seeds_of_the_fuzzers_have_pins) {
    const std::filesystem::path seeds = REMATLAS_SOURCE_DIR "/tests/fuzz/seeds";
    const Result<Schedule> schedule = read_schedule(seeds / "schedule/pins.schedule.json");
    const Result<Sweep> sweep = read_sweep(seeds / "sweep/pins.sweep.json");
    const Result<Plan> plan = read_plan(seeds / "plan/pins.plan");
    ASSERT_TRUE(schedule && sweep && plan);
    EXPECT_EQ(schedule->pins, (Pins{{"#2", PinKind::recompute}, {"#4", PinKind::keep}}));
    EXPECT_EQ(sweep->pins, schedule->pins);
    EXPECT_EQ(plan->schedule.pins, schedule->pins);
    EXPECT_TRUE(check(plan->graph, plan->schedule).ok());
}

TEST(DamagedFiles, seeds_of_the_fuzzers_have_links_and_homes) {
    const std::filesystem::path seeds = REMATLAS_SOURCE_DIR "/tests/fuzz/seeds";
    const Result<Graph> graph = read_graph(seeds / "graph/links.graph.json");
    const Result<Schedule> schedule = read_schedule(seeds / "schedule/homes.schedule.json");
    ASSERT_TRUE(graph && schedule);
    EXPECT_EQ(graph->device->links.copy_latency, Nanoseconds(3));
    const CheckReport report = check(*graph, *schedule);
    EXPECT_TRUE(report.ok()) << report.violations.front();
    EXPECT_EQ(report.host_peak, *schedule->host_peak);
}

}  // namespace
}  // namespace rematlas
