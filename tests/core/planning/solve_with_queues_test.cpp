// For graphs whose collectives run at the same time as compute, exhaustive search, solvers, simulator,
// checker and bounds must agree.
#include "core/planning/solve_with_queues.h"

#include <gtest/gtest.h>

#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/planning/request.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solving/beside_compute.h"
#include "tests/core/support/brute_force_with_queues.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/random_queues.h"
#include "tests/core/support/sharded_layers.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGraphs = 4000;

Graph small_graph(std::uint64_t seed) {
    return with_random_queues(random_training_graph(seed, {.forward_ops = 2, .free_ops = false}), seed);
}

TEST(SolveWithQueues, is_between_the_bound_and_exhaustive_search) {
    int compared = 0, equal = 0, reruns = 0, beside = 0;
    double longer = 0;
    for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
        const Graph graph = small_graph(seed);
        ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
        if (!has_queues(graph) || graph.tensors.size() > 14) continue;
        const FlatGraph flat = flatten(graph);
        const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
        const Bytes budget(least + (most - least) * static_cast<std::int64_t>(seed % 5) / 4);
        const Result<Outcome> outcome =
            solve(Problem{graph, flat},
                  {.budget = *parse_budget(std::to_string(budget.value)), .limits = {.time = 50ms}});
        ASSERT_TRUE(outcome) << seed << ": " << outcome.error().message;
        const std::optional<std::int64_t> optimum = brute_force_with_queues(graph, budget.value, 20'000);
        const Schedule* schedule = outcome->schedule();
        if (!schedule) {
            EXPECT_FALSE(optimum && outcome->infeasible()->proven) << seed;
            continue;
        }
        ASSERT_LE(schedule->peak, budget) << seed;
        ASSERT_TRUE(schedule->bound) << seed;
        const double bound = schedule->bound->overhead * static_cast<double>(flat.base_time);
        ASSERT_LE(bound, static_cast<double>(schedule->time.value) * (1 + 1e-9)) << seed;
        if (!optimum) continue;
        ASSERT_GE(schedule->time.value, *optimum) << seed;
        ASSERT_LE(bound, static_cast<double>(*optimum) * (1 + 1e-9)) << seed;
        ++compared;
        equal += schedule->time.value == *optimum;
        longer += static_cast<double>(schedule->time.value) / static_cast<double>(*optimum) - 1;
        std::int64_t serial = 0;
        for (const Step& step : schedule->steps)
            if (step.runs()) serial += graph.ops[step.op()].time.value;
        beside += schedule->time.value < serial;
        reruns += check(graph, *schedule).reruns > 0;
    }
    RecordProperty("compared", compared);
    RecordProperty("optimal", equal);
    RecordProperty("mean excess", std::to_string(longer / compared));
    EXPECT_GT(compared, 2000);
    EXPECT_GT(equal, compared * 9 / 10);
    EXPECT_GT(beside, 400);
    EXPECT_GT(reruns, 100);
}

TEST(SolveWithQueues, hides_gathers_and_scatters_where_there_is_room) {
    const Graph graph = sharded_layers(6, 100, 80);
    ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
    const FlatGraph flat = flatten(graph);
    const Result<Outcome> outcome =
        solve(Problem{graph, flat}, {.budget = *parse_budget("100%"), .limits = {.time = 500ms}});
    ASSERT_TRUE(outcome && outcome->schedule());
    // The first gather and the last scatter cannot be hidden.
    EXPECT_LE(outcome->schedule()->time.value, base_time(graph).value + 2 * 80);
}

TEST(SolveWithQueues, bytes_that_a_collective_needs_longer_stay_within_the_budget) {
    const Graph graph = sharded_layers(6, 100, 80);
    const FlatGraph flat = flatten(graph);
    Nanoseconds before(0);
    for (std::int64_t percent = 60; percent <= 100; percent += 10) {
        const Bytes budget(keep_all_peak(flat).value * percent / 100);
        const Result<Outcome> outcome =
            solve(Problem{graph, flat}, {.budget = budget, .limits = {.time = 400ms}});
        ASSERT_TRUE(outcome && outcome->schedule()) << percent;
        EXPECT_LE(outcome->schedule()->peak, budget);
        if (before.value > 0) {
            EXPECT_LE(outcome->schedule()->time.value, before.value * 21 / 20) << percent;
        }
        before = outcome->schedule()->time;
    }
}

TEST(SolveWithQueues, sweeps_and_files_know_queues) {
    const Graph graph = sharded_layers(3, 100, 80);
    const Result<Graph> again = parse_graph(graph_text(graph), "again");
    ASSERT_TRUE(again) << again.error().message;
    for (OpId op : graph.ops.ids()) EXPECT_EQ(again->ops[op].collective, graph.ops[op].collective);
    const Result<Sweep> sweep =
        run_sweep(graph, {.solvers = {"atlas", "keep-all"}, .count = 4, .limits = {.time = 2s}});
    ASSERT_TRUE(sweep) << sweep.error().message;
    for (const SweepCurve& curve : sweep->curves)
        for (const SweepPoint& point : curve.points) {
            if (point.status == "infeasible") continue;
            const Result<Simulation> played = simulate(graph, point.steps);
            ASSERT_TRUE(played) << played.error().message;
            EXPECT_LE(played->peak, point.budget) << curve.solver;
            EXPECT_NEAR(point.overhead, flatten(graph).overhead_of(played->time.value), 1e-9) << curve.solver;
        }
}

TEST(SolveWithQueues, collectives_that_need_not_run_are_no_part_of_bounds) {
    Graph graph = sharded_layers(1, 10, 80);
    graph.tensors.push_back({"unread", Bytes(4)});
    const TensorId unread(static_cast<std::int64_t>(graph.tensors.size()) - 1);
    IdVector<OpId, Op> ops;
    Op idle{.name = "idle", .time = Nanoseconds(500), .inputs = {TensorId(0)}, .outputs = {unread}};
    idle.collective = Collective{"fsdp", Bytes(1)};
    ops.push_back(idle);
    for (const Op& op : graph.ops) ops.push_back(op);
    graph.ops = ops;
    ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
    const Result<Outcome> outcome =
        solve(graph, {.budget = *parse_budget("100%"), .limits = {.time = 200ms}});
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->schedule());
    EXPECT_LT(outcome->schedule()->overhead, 1);
}

TEST(SolveWithQueues, refuses_what_a_queue_cannot_have) {
    Graph graph = sharded_layers(2, 100, 80);
    const SolveRequest pinned{.budget = *parse_budget("100%"), .pins = {{"gather", PinKind::keep}}};
    const Result<Outcome> outcome = solve(graph, pinned);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("collectives that have a queue"), std::string::npos);
    Op& gather = graph.ops[OpId(0)];
    gather.workspace = Bytes(1);
    EXPECT_FALSE(validate(graph));
    gather.workspace = Bytes(0);
    gather.collective->queue.clear();
    EXPECT_FALSE(validate(graph));
    gather.collective->queue = "fsdp";
    gather.collective->wire = Bytes(-1);
    EXPECT_FALSE(validate(graph));
}

}  // namespace
}  // namespace rematlas
