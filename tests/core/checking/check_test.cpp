#include "core/checking/check.h"

#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

Schedule keep_all(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    Schedule schedule;
    schedule.steps = lower(flat, keep_all_sequence(flat));
    return schedule;
}

/// Returns the first violation; empty if there is none.
std::string violation(const Graph& graph, const Schedule& schedule,
                      std::optional<Bytes> budget = std::nullopt) {
    const CheckReport report = check(graph, schedule, budget);
    return report.ok() ? "" : report.violations.front();
}

TEST(Check, a_schedule_by_hand_passes_with_its_numbers) {
    const Graph graph = small_graph();
    Schedule schedule;
    schedule.steps = {Step::run(OpId(0)),      Step::run(OpId(1)),      Step::free(TensorId(1)),
                      Step::run(OpId(2)),      Step::run(OpId(0)),      Step::run(OpId(3)),
                      Step::free(TensorId(2)), Step::free(TensorId(3)), Step::run(OpId(4)),
                      Step::free(TensorId(1)), Step::free(TensorId(4))};
    const CheckReport report = check(graph, schedule);
    ASSERT_TRUE(report.ok()) << report.violations.front();
    EXPECT_EQ(report.time, Nanoseconds(60));
    EXPECT_DOUBLE_EQ(report.overhead, 1.2);
    EXPECT_EQ(report.peak, Bytes(410));
    EXPECT_EQ(report.runs, 6u);
    EXPECT_EQ(report.reruns, 1u);
}

TEST(Check, names_the_step_that_reads_what_is_not_there) {
    const Graph graph = small_graph();
    Schedule schedule = keep_all(graph);
    schedule.steps.insert(schedule.steps.begin() + 1, Step::free(TensorId(1)));
    EXPECT_NE(
        violation(graph, schedule).find("step 2: op 1 (b) reads tensor 1 (a), which is not on the device"),
        std::string::npos)
        << violation(graph, schedule);
}

TEST(Check, refuses_each_kind_of_broken_schedule) {
    const Graph graph = small_graph();
    const auto broken = [&](auto change) {
        Schedule schedule = keep_all(graph);
        change(schedule.steps);
        return violation(graph, schedule);
    };
    using Steps = std::vector<Step>;
    EXPECT_NE(broken([](Steps& s) { s.push_back(Step::free(TensorId(5))); }), "") << "frees a result";
    EXPECT_NE(broken([](Steps& s) { s.push_back(Step::free(TensorId(1))); }), "") << "frees twice";
    EXPECT_NE(broken([](Steps& s) { s.push_back(Step::free(TensorId(0))); }), "") << "frees a resident";
    EXPECT_NE(broken([](Steps& s) { s.pop_back(), s.pop_back(), s.pop_back(); }), "") << "ends too early";
    EXPECT_NE(broken([](Steps& s) { s.push_back(Step::run(OpId(9))); }), "") << "no such op";
    EXPECT_NE(broken([](Steps& s) { s.push_back(Step{StepKind::free, 99}); }), "") << "no such tensor";
    EXPECT_NE(broken([](Steps& s) { s[0] = Step::run_inplace(OpId(0)); }), "") << "cannot run in place";
    EXPECT_NE(broken([](Steps& s) { s.push_back(Step::offload(TensorId(5))); }), "") << "no link";
    EXPECT_NE(broken([](Steps& s) { s.clear(); }), "") << "nothing runs";
}

TEST(Check, an_op_that_may_run_once_runs_once) {
    Graph graph = small_graph();
    graph.ops[OpId(0)].recomputable = false;
    Schedule schedule = keep_all(graph);
    schedule.steps.insert(schedule.steps.begin() + 1, Step::run(OpId(0)));
    EXPECT_NE(violation(graph, schedule).find("may run only once"), std::string::npos);
}

TEST(Check, an_op_that_updates_residents_must_run) {
    Graph graph = small_graph();
    Op update;
    update.name = "update";
    update.inputs = {TensorId(0)};
    update.mutates = {TensorId(0)};
    graph.ops.push_back(update);
    Schedule schedule = keep_all(graph);
    std::erase(schedule.steps, Step::run(OpId(5)));
    EXPECT_NE(violation(graph, schedule).find("updates residents"), std::string::npos);
}

TEST(Check, the_budget_and_the_prediction_are_kept_to_the_byte) {
    const Graph graph = small_graph();
    Schedule schedule = keep_all(graph);
    EXPECT_EQ(violation(graph, schedule, Bytes(410)), "");
    EXPECT_NE(violation(graph, schedule, Bytes(409)), "");
    schedule.peak = Bytes(409);
    schedule.overhead = 1.0;
    EXPECT_NE(violation(graph, schedule).find("predicts 409"), std::string::npos);
    schedule.peak = Bytes(410);
    schedule.overhead = 1.01;
    EXPECT_NE(violation(graph, schedule).find("overhead"), std::string::npos);
}

TEST(Check, a_prediction_of_the_time_counts_beside_the_smallest_peak_too) {
    Graph graph = small_graph();
    for (TensorId tensor : graph.tensors.ids()) graph.tensors[tensor].bytes = Bytes(0);
    for (OpId op : graph.ops.ids()) graph.ops[op].workspace = Bytes(1);
    Schedule schedule = keep_all(graph);
    schedule.peak = Bytes(1);
    schedule.overhead = 1.0;
    EXPECT_EQ(violation(graph, schedule), "");
    schedule.overhead = 1.01;
    EXPECT_NE(violation(graph, schedule).find("overhead"), std::string::npos);
}

TEST(Check, no_schedule_is_below_its_bound) {
    const Graph graph = small_graph();
    const FlatGraph flat = flatten(graph);
    Schedule schedule;
    schedule.steps = lower(flat, keep_all_sequence(flat));
    schedule.bound = Bound{.overhead = 1, .gap = 0, .over = ScheduleClass::any_order};
    EXPECT_TRUE(check(graph, schedule).ok());
    schedule.bound->overhead = 1.01;
    EXPECT_NE(violation(graph, schedule).find("below the bound"), std::string::npos);
}

TEST(Check, what_is_called_optimal_is_at_its_bound) {
    const Graph graph = small_graph();
    Schedule schedule = keep_all(graph);
    schedule.status = "optimal";
    schedule.bound = Bound{.overhead = 1, .gap = 0, .over = ScheduleClass::any_order};
    EXPECT_TRUE(check(graph, schedule).ok());
    schedule.bound->overhead = 0.9;
    EXPECT_NE(violation(graph, schedule).find("called optimal"), std::string::npos);
    schedule.status = "feasible";
    schedule.bound->gap = 0.1 / 0.9;
    EXPECT_EQ(violation(graph, schedule), "");
}

TEST(Check, the_time_that_is_predicted_is_kept_to_the_nanosecond) {
    const Graph graph = small_graph();
    Schedule schedule = keep_all(graph);
    schedule.peak = Bytes(410);
    for (const std::int64_t time : {49, 51, 10'000'050}) {
        schedule.time = Nanoseconds(time);
        EXPECT_EQ(violation(graph, schedule),
                  "at the end: the time is 50 ns, the schedule predicts " + std::to_string(time));
    }
    schedule.time = Nanoseconds(50);
    EXPECT_EQ(violation(graph, schedule), "");
    schedule.time = {};
    EXPECT_EQ(violation(graph, schedule), "") << "files that say no time";
}

TEST(Check, the_gap_is_what_the_overhead_is_above_the_bound) {
    const Graph graph = small_graph();
    Schedule schedule = keep_all(graph);
    schedule.bound = Bound{.overhead = 0.8, .gap = 0.25, .over = ScheduleClass::any_order};
    EXPECT_EQ(violation(graph, schedule), "");
    for (const double wrong : {-1.0, 0.0, 0.2499, 0.2501, 1e9}) {
        schedule.bound->gap = wrong;
        EXPECT_NE(violation(graph, schedule).find("the gap to the bound is 0.25"), std::string::npos);
    }
}

TEST(Check, a_schedule_of_another_graph_is_refused) {
    Graph graph = small_graph();
    Schedule schedule = keep_all(graph);
    graph.sha256 = "aa";
    schedule.graph_sha256 = "bb";
    EXPECT_NE(violation(graph, schedule).find("another graph"), std::string::npos);
}

}  // namespace
}  // namespace rematlas
