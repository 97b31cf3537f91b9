#include "core/schedule/schedule_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/graph/graph_file.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Schedule some_schedule(const std::string& digest) {
    Schedule schedule;
    schedule.graph = "small";
    schedule.graph_sha256 = digest;
    schedule.solver = "atlas";
    schedule.budget = Bytes(500);
    schedule.time = Nanoseconds(60);
    schedule.overhead = 1.2;
    schedule.peak = Bytes(410);
    schedule.bound = Bound{1.1, 0.09, ScheduleClass::any_order, 0.25, 12};
    schedule.status = "feasible";
    schedule.solve_seconds = 0.5;
    schedule.pins = {{"blocks.*.attn", PinKind::recompute}, {"#3", PinKind::keep}};
    schedule.steps = {Step::run(OpId(0)), Step::run_inplace(OpId(1)), Step::free(TensorId(2)),
                      Step::offload(TensorId(3)), Step::fetch(TensorId(3))};
    return schedule;
}

TEST(ScheduleFile, a_written_schedule_reads_back_equal) {
    const Schedule schedule = some_schedule("ab");
    const Result<Schedule> read = parse_schedule(schedule_text(schedule), "s");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(schedule_text(*read), schedule_text(schedule));
    EXPECT_EQ(read->steps, schedule.steps);
    EXPECT_EQ(read->bound->over, ScheduleClass::any_order);
    EXPECT_EQ(read->bound->seconds, 0.25);
    EXPECT_EQ(read->bound->nodes, 12);
}

TEST(ScheduleFile, a_bound_need_not_tell_what_it_took) {
    const Result<Schedule> read = parse_schedule(
        R"({"format":"rematlas.schedule","version":1,"graph":"g","steps":[],"bound":{"overhead":1.5}})", "s");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(read->bound);
    EXPECT_FALSE(read->bound->nodes);
    EXPECT_EQ(json::parse(schedule_text(*read))["bound"],
              json({{"overhead", 1.5}, {"gap", 0.0}, {"class", ""}}));
}

TEST(ScheduleFile, a_schedule_of_another_writer_needs_the_steps_only) {
    const Result<Schedule> read =
        parse_schedule(R"({"format":"rematlas.schedule","version":1,"graph":"g","steps":[["run",0]]})", "s");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_FALSE(read->bound);
}

TEST(ScheduleFile, what_it_does_not_tell_is_as_in_a_schedule_made_without_it) {
    const Result<Schedule> read =
        parse_schedule(R"({"format":"rematlas.schedule","version":1,"graph":"g","steps":[]})", "s");
    ASSERT_TRUE(read) << read.error().message;
    Schedule meant;
    meant.graph = "g";
    meant.status = "feasible";
    EXPECT_EQ(schedule_text(*read), schedule_text(meant));
    EXPECT_FALSE(read->config || read->bound || read->addresses);
}

TEST(ScheduleFile, config_bound_and_addresses_read_back) {
    Schedule schedule = some_schedule("ab");
    schedule.config = std::make_shared<const json>(json{{"seed", 3}});
    schedule.addresses = Addresses{512, Bytes(1024), {Bytes(0), Bytes(512)}};
    for (const ScheduleClass over :
         {ScheduleClass::staged, ScheduleClass::any_order, ScheduleClass::with_activation_copies,
          ScheduleClass::with_copies, ScheduleClass::with_host_ops}) {
        schedule.bound->over = over;
        const Result<Schedule> read = parse_schedule(schedule_text(schedule), "s");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read->config, *schedule.config);
        EXPECT_EQ(read->addresses, schedule.addresses);
        EXPECT_EQ(read->bound->over, over);
        EXPECT_EQ(read->bound->overhead, 1.1);
        EXPECT_EQ(read->bound->gap, 0.09);
        EXPECT_EQ(read->graph, "small");
        EXPECT_EQ(read->graph_sha256, "ab");
        EXPECT_EQ(read->solver, "atlas");
        EXPECT_EQ(read->budget, Bytes(500));
        EXPECT_EQ(read->time, Nanoseconds(60));
        EXPECT_EQ(read->overhead, 1.2);
        EXPECT_EQ(read->peak, Bytes(410));
        EXPECT_EQ(read->solve_seconds, 0.5);
    }
}

TEST(ScheduleFile, links_other_than_the_graphs_read_back) {
    Schedule schedule = some_schedule("ab");
    EXPECT_FALSE(json::parse(schedule_text(schedule)).contains("links"));
    schedule.links = Links{.to_host_bytes_per_second = 5e10,
                           .to_device_bytes_per_second = 6e10,
                           .to_host_contended_bytes_per_second = 4e10,
                           .to_device_contended_bytes_per_second = 3e10,
                           .copy_latency = Nanoseconds(9),
                           .least_copy = Bytes(7)};
    const Result<Schedule> read = parse_schedule(schedule_text(schedule), "s");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->links, schedule.links);
    json broken = json::parse(schedule_text(schedule));
    broken["links"]["to_host_bytes_per_second"] = -1;
    EXPECT_EQ(parse_schedule(broken.dump(), "s").error().message, "s: links: a link speed is negative");
}

TEST(ScheduleFile, numbers_below_nothing_are_refused_and_named) {
    Schedule schedule = some_schedule("ab");
    schedule.addresses = Addresses{1, Bytes(0), {}};
    const auto complaint = [&](auto change) {
        json file = json::parse(schedule_text(schedule));
        change(file);
        const Result<Schedule> read = parse_schedule(file.dump(), "s");
        return read ? std::string("none") : read.error().message;
    };
    EXPECT_EQ(complaint([](json&) {}), "none");
    EXPECT_EQ(complaint([](json& f) { f["budget_bytes"] = 0; }), "none");
    EXPECT_EQ(complaint([](json& f) { f["budget_bytes"] = -1; }), "s: budget_bytes is negative");
    for (const char* key : {"time_ns", "overhead", "peak_bytes"}) {
        EXPECT_EQ(complaint([&](json& f) { f["predicted"][key] = 0; }), "none");
        EXPECT_EQ(complaint([&](json& f) { f["predicted"][key] = -1; }), "s: predicted: a value is negative");
    }
    EXPECT_EQ(complaint([](json& f) { f["addresses"]["alignment"] = 0; }),
              "s: addresses: the alignment or the arena is not positive");
    EXPECT_EQ(complaint([](json& f) { f["arena_bytes"] = -1; }),
              "s: addresses: the alignment or the arena is not positive");
}

TEST(ScheduleFile, broken_steps_are_named) {
    for (const char* steps :
         {R"([["jump", 1]])", R"([["run", -1]])", R"([["run", 1.5]])", R"([["run"]])", R"([["run", 1, 2]])",
          R"(["run"])", R"([[1, "run"]])", R"([["run", 99999999999]])"}) {
        const Result<Schedule> read = parse_schedule(
            R"({"format":"rematlas.schedule","version":1,"graph":"g","steps":)" + std::string(steps) + "}",
            "s");
        ASSERT_FALSE(read) << steps;
        EXPECT_NE(read.error().message.find("steps[0]"), std::string::npos) << read.error().message;
    }
}

TEST(ScheduleFile, frees_that_made_room_read_back_and_are_frees_in_ascending_order) {
    const auto read = [](const std::string& evicted) {
        return parse_schedule(R"({"format":"rematlas.schedule","version":1,"graph":"g",)"
                              R"("steps":[["run",0],["free",1],["free",2]],"evicted":)" +
                                  evicted + "}",
                              "s");
    };
    const Result<Schedule> schedule = read("[1,2]");
    ASSERT_TRUE(schedule) << schedule.error().message;
    EXPECT_EQ(schedule->evicted, (std::vector<std::int32_t>{1, 2}));
    EXPECT_EQ(parse_schedule(schedule_text(*schedule), "s")->evicted, schedule->evicted);
    for (const char* wrong : {"[0]", "[3]", "[-1]", "[99999999999]"})
        EXPECT_NE(read(wrong).error().message.find("is no free"), std::string::npos) << wrong;
    for (const char* wrong : {"[2,1]", "[1,1]"})
        EXPECT_NE(read(wrong).error().message.find("ascending"), std::string::npos) << wrong;
    EXPECT_FALSE(read(R"(["1"])"));
}

TEST(ScheduleFile, pins_are_pairs_of_a_pattern_and_a_decision) {
    const auto read = [](const std::string& pins) {
        return parse_schedule(
            R"({"format":"rematlas.schedule","version":1,"graph":"g","steps":[],"pins":)" + pins + "}", "s");
    };
    const Result<Schedule> two = read(R"([["a.*", "keep"], ["b", "recompute"]])");
    ASSERT_TRUE(two) << two.error().message;
    EXPECT_EQ(two->pins, (Pins{{"a.*", PinKind::keep}, {"b", PinKind::recompute}}));
    EXPECT_TRUE(read("[]")->pins.empty());
    EXPECT_TRUE(read("null")->pins.empty());
    for (const char* pins :
         {R"([["a"]])", R"([["a", "keep", 1]])", R"([["a", 1]])", R"([[1, "keep"]])", R"(["a=keep"])",
          R"([["", "keep"]])", R"([["a", "Keep"]])", R"([{"a": "keep"}])"}) {
        const Result<Schedule> broken = read(pins);
        ASSERT_FALSE(broken) << pins;
        EXPECT_NE(broken.error().message.find("s: pins[0]"), std::string::npos) << broken.error().message;
    }
    EXPECT_FALSE(read("{}"));
}

/// Returns a schedule with everything that only version 2 supports.
Schedule schedule_with_homes() {
    Schedule schedule = some_schedule("ab");
    schedule.homes = {.on_host = {TensorId(0), TensorId(5)}, .stays = {TensorId(0)}, .cyclic = true};
    schedule.steps.push_back(Step::drop(TensorId(3)));
    schedule.steps.push_back(Step::run_host(OpId(4)));
    return schedule;
}

TEST(ScheduleFile, homes_and_steps_on_the_host_read_back_and_are_of_version_2) {
    const Schedule schedule = schedule_with_homes();
    const Result<Schedule> read = parse_schedule(schedule_text(schedule), "s");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->homes, schedule.homes);
    EXPECT_EQ(read->steps, schedule.steps);
    EXPECT_EQ(schedule_text(*read), schedule_text(schedule));
    EXPECT_EQ(json::parse(schedule_text(schedule))["version"], 2);
    EXPECT_EQ(json::parse(schedule_text(some_schedule("ab")))["version"], 1);
}

TEST(ScheduleFile, each_of_them_alone_makes_version_2) {
    const auto version_with = [](auto change) {
        Schedule schedule = some_schedule("ab");
        change(schedule);
        return json::parse(schedule_text(schedule))["version"].get<int>();
    };
    EXPECT_EQ(version_with([](Schedule&) {}), 1);
    EXPECT_EQ(version_with([](Schedule& s) { s.homes.on_host = {TensorId(1)}; }), 2);
    EXPECT_EQ(version_with([](Schedule& s) { s.homes.cyclic = true; }), 2);
    EXPECT_EQ(version_with([](Schedule& s) { s.steps.push_back(Step::drop(TensorId(3))); }), 2);
    EXPECT_EQ(version_with([](Schedule& s) { s.steps.push_back(Step::run_host(OpId(3))); }), 2);
    EXPECT_EQ(version_with([](Schedule& s) { s.host_budget = Bytes(3); }), 1);
}

TEST(ScheduleFile, the_class_of_steps_is_the_smallest_that_has_their_kinds) {
    EXPECT_EQ(class_of({Step::run(OpId(0)), Step::free(TensorId(1))}), ScheduleClass::any_order);
    for (const Step copy : {Step::offload(TensorId(1)), Step::fetch(TensorId(1)), Step::drop(TensorId(1))})
        EXPECT_EQ(class_of({Step::run(OpId(0)), copy}), ScheduleClass::with_copies);
    EXPECT_EQ(class_of({Step::run_host(OpId(0)), Step::fetch(TensorId(1))}), ScheduleClass::with_host_ops);
}

TEST(ScheduleFile, what_is_wrong_about_homes_is_named) {
    const auto complaint = [&](auto change) {
        json file = json::parse(schedule_text(schedule_with_homes()));
        change(file);
        const Result<Schedule> read = parse_schedule(file.dump(), "s");
        return read ? std::string("none") : read.error().message;
    };
    EXPECT_EQ(complaint([](json&) {}), "none");
    EXPECT_EQ(complaint([](json& f) { f["version"] = 3; }),
              "s: version 3 is not supported, expected at most 2");
    EXPECT_EQ(complaint([](json& f) { f["version"] = 0; }),
              "s: version 0 is not supported, expected at most 2");
    EXPECT_EQ(complaint([](json& f) { f["version"] = 1; }), "s: steps[5]: step 'drop' is of version 2");
    EXPECT_EQ(complaint([](json& f) { f["version"] = 1, f["steps"] = json::array(); }),
              "s: home_on_host is of version 2");
    EXPECT_EQ(complaint([](json& f) {
                  f["home_on_host"] = {5, 0};
              }),
              "s: home_on_host[1]: the tensors are not in ascending order");
    EXPECT_EQ(complaint([](json& f) {
                  f["home_on_host"] = {0, 0};
              }),
              "s: home_on_host[1]: the tensors are not in ascending order");
    EXPECT_EQ(complaint([](json& f) { f["home_on_host"] = {-1}; }),
              "s: home_on_host[0]: id -1 is out of range");
    EXPECT_EQ(complaint([](json& f) { f["stays"] = {3}; }),
              "s: stays names tensor 3, which home_on_host does not");
    EXPECT_EQ(complaint([](json& f) { f["stays"] = 3; }), "s: stays is not a list");
    EXPECT_EQ(complaint([](json& f) { f["cyclic"] = 1; }), "s: cyclic is neither true nor false");
}

TEST(ScheduleFile, bytes_on_the_host_read_back_and_are_not_negative) {
    Schedule schedule = some_schedule("ab");
    EXPECT_FALSE(parse_schedule(schedule_text(schedule), "s")->host_budget);
    EXPECT_FALSE(parse_schedule(schedule_text(schedule), "s")->host_peak);
    schedule.host_budget = Bytes(0);
    schedule.host_peak = Bytes(7);
    const Result<Schedule> read = parse_schedule(schedule_text(schedule), "s");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->host_budget, Bytes(0));
    EXPECT_EQ(read->host_peak, Bytes(7));
    json file = json::parse(schedule_text(schedule));
    file["host_budget_bytes"] = -1;
    EXPECT_EQ(parse_schedule(file.dump(), "s").error().message, "s: host_budget_bytes is negative");
    file["host_budget_bytes"] = 1;
    file["predicted"]["host_peak_bytes"] = -1;
    EXPECT_EQ(parse_schedule(file.dump(), "s").error().message, "s: predicted: host_peak_bytes is negative");
}

TEST(ScheduleFile, every_truncation_is_refused) {
    const std::string text = schedule_text(some_schedule("ab"));
    for (std::size_t length = 0; length + 2 < text.size(); ++length)
        EXPECT_FALSE(parse_schedule(text.substr(0, length), "s")) << length;
}

class PlanFile : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(testing::TempDir()) / ("rematlas_plan_" + std::to_string(::getpid()));
        fs::create_directories(folder_);
        graph_ = small_graph();
        graph_.replay = std::make_shared<const json>(json{{"calls", json::array()}});
        ASSERT_TRUE(write_graph(graph_, folder_ / "small.graph.json"));
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path folder_;
    Graph graph_;
};

TEST_F(PlanFile, holds_the_graph_and_the_schedule) {
    ASSERT_TRUE(write_plan(graph_text(graph_), some_schedule(graph_.sha256), folder_ / "x.plan"));
    const Result<Plan> plan = read_plan_or_schedule(folder_ / "x.plan");
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->graph.sha256, graph_.sha256);
    EXPECT_EQ(plan->schedule.steps, some_schedule("").steps);
}

TEST_F(PlanFile, refuses_a_schedule_of_another_graph_and_a_graph_without_replay) {
    EXPECT_FALSE(write_plan(graph_text(graph_), some_schedule("00"), folder_ / "x.plan"));
    graph_.replay = nullptr;
    const std::string text = graph_text(graph_);
    const Result<void> written = write_plan(text, some_schedule(sha256(text)), folder_ / "x.plan");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("nothing to replay"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder_ / "x.plan"));
}

TEST_F(PlanFile, a_cut_or_padded_plan_is_refused) {
    ASSERT_TRUE(write_plan(graph_text(graph_), some_schedule(graph_.sha256), folder_ / "x.plan"));
    const std::string bytes = *read_file(folder_ / "x.plan");
    for (std::size_t length : {std::size_t{0}, std::size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
        ASSERT_TRUE(write_file(folder_ / "y.plan", bytes.substr(0, length)));
        EXPECT_FALSE(read_plan(folder_ / "y.plan")) << length;
    }
    ASSERT_TRUE(write_file(folder_ / "y.plan", bytes + "x"));
    EXPECT_FALSE(read_plan(folder_ / "y.plan"));
}

TEST_F(PlanFile, a_schedule_finds_its_graph_beside_it_by_digest) {
    ASSERT_TRUE(write_schedule(some_schedule(graph_.sha256), folder_ / "s.schedule.json"));
    EXPECT_TRUE(read_plan_or_schedule(folder_ / "s.schedule.json"));
    ASSERT_TRUE(write_schedule(some_schedule("00"), folder_ / "t.schedule.json"));
    EXPECT_FALSE(read_plan_or_schedule(folder_ / "t.schedule.json"));
}

}  // namespace
}  // namespace rematlas
