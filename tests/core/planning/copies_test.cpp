// Tests how planning treats answers of solvers that copy tensors to the host, and of solvers that do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checking/check.h"
#include "core/planning/largest_batch.h"
#include "core/planning/request.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Links kLinks{.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 1e10};

/// A solver that returns a given answer.
class Told : public Solver {
  public:
    explicit Told(Answer answer) : answer_(std::move(answer)) {}
    std::string_view name() const override { return "told"; }
    Answer solve(const Problem&, Bytes, const Limits&, const Progress&) const override { return answer_; }

  private:
    Answer answer_;
};

/// Returns steps in which `a` is on the host, and not on the device, while the loss runs.
std::vector<Step> a_away() {
    return {Step::run(OpId(0)),      Step::offload(TensorId(1)), Step::run(OpId(1)), Step::free(TensorId(1)),
            Step::run(OpId(2)),      Step::fetch(TensorId(1)),   Step::run(OpId(3)), Step::free(TensorId(2)),
            Step::free(TensorId(3)), Step::run(OpId(4))};
}

Solution solution_of(const Graph& graph, std::vector<Step> steps, Homes homes = {}) {
    const Result<Simulation> played = simulate(graph, steps, homes, kLinks);
    EXPECT_TRUE(played) << played.error().message;
    Solution solution{.steps = std::move(steps), .homes = std::move(homes)};
    solution.time = played->time;
    solution.peak = played->peak;
    solution.overhead = static_cast<double>(played->time.value) / 50;
    return solution;
}

Result<Outcome> solve_told(const Graph& graph, Answer answer, Bytes budget, Copies copies) {
    const FlatGraph flat = flatten(graph);
    copies.links = kLinks;
    return solve(Problem{graph, flat, copies}, Told(std::move(answer)), budget, {});
}

TEST(PlannedCopies, AreInTheScheduleWithAllThatJudgesThem) {
    const Graph graph = small_graph();
    const Result<Outcome> outcome = solve_told(graph, solution_of(graph, a_away()), Bytes(1000),
                                               {.what = Offload::activations, .host_budget = Bytes(150)});
    ASSERT_TRUE(outcome && outcome->schedule()) << outcome.error().message;
    const Schedule& schedule = *outcome->schedule();
    EXPECT_EQ(schedule.links, kLinks) << "the graph names none";
    EXPECT_EQ(schedule.host_peak, Bytes(100));
    EXPECT_EQ(schedule.host_budget, Bytes(150));
    ASSERT_TRUE(schedule.bound);
    EXPECT_EQ(schedule.bound->over, ScheduleClass::with_activation_copies);
    EXPECT_TRUE(check(graph, schedule).ok());
    EXPECT_EQ(simulate(graph, schedule)->time, schedule.time);
}

TEST(PlannedCopies, LinksOfTheGraphAreNotSaidAgain) {
    Graph graph = small_graph();
    graph.device = Device{.name = "d", .memory = {}, .links = kLinks};
    const Result<Outcome> outcome =
        solve_told(graph, solution_of(graph, a_away()), Bytes(1000), {.what = Offload::activations});
    ASSERT_TRUE(outcome && outcome->schedule()) << outcome.error().message;
    EXPECT_EQ(outcome->schedule()->links, std::nullopt);
}

TEST(PlannedCopies, HomesOfASolutionAreThoseOfItsSchedule) {
    const Graph graph = small_graph();
    std::vector<Step> steps = a_away();
    steps.insert(steps.begin(), Step::fetch(TensorId(0)));
    steps.push_back(Step::free(TensorId(0)));
    const Homes homes{.on_host = {TensorId(0)}, .stays = {}};
    const Result<Outcome> outcome =
        solve_told(graph, solution_of(graph, steps, homes), Bytes(1000), {.what = Offload::all});
    ASSERT_TRUE(outcome && outcome->schedule()) << outcome.error().message;
    EXPECT_EQ(outcome->schedule()->homes, homes);
    EXPECT_EQ(outcome->schedule()->host_peak, Bytes(110));
    EXPECT_EQ(outcome->schedule()->bound->over, ScheduleClass::with_copies);
}

TEST(PlannedCopies, BeyondWhatIsAllowedAreAMistakeOfTheSolver) {
    const Graph graph = small_graph();
    const Solution away = solution_of(graph, a_away());
    for (const Copies& copies :
         {Copies{.what = Offload::weights}, Copies{.what = Offload::activations, .host_budget = Bytes(99)}}) {
        const Result<Outcome> outcome = solve_told(graph, away, Bytes(1000), copies);
        ASSERT_FALSE(outcome);
        EXPECT_THAT(outcome.error().message,
                    StartsWith("solver told made a schedule that the checker refuses"));
    }
}

TEST(PlannedCopies, WhatIsProvenOfSchedulesWithoutThemIsNotSaidOfThoseWith) {
    const Graph graph = small_graph();
    const FlatGraph flat = flatten(graph);
    Solution plain;
    plain.steps = lower(flat, keep_all_sequence(flat));
    plain.time = Nanoseconds(50);
    plain.peak = keep_all_peak(flat);
    plain.status = Status::optimal;
    plain.bound = Bound{1.0, 0, ScheduleClass::any_order};
    const Result<Outcome> outcome = solve_told(graph, plain, Bytes(1000), {.what = Offload::activations});
    ASSERT_TRUE(outcome && outcome->schedule()) << outcome.error().message;
    ASSERT_TRUE(outcome->schedule()->bound);
    EXPECT_EQ(outcome->schedule()->bound->over, ScheduleClass::with_activation_copies);
    EXPECT_EQ(outcome->schedule()->host_peak, std::nullopt) << "nothing is ever there";
}

TEST(PlannedCopies, InfeasibleIsProvenOnlyWhereCopiesDoNotHelp) {
    Graph graph = small_graph();
    const auto none_at = [&](std::int64_t budget, Offload what) {
        // A solver that counts residents but knows nothing about copies gives this answer.
        const Infeasible answer{
            .needed = Bytes(5000), .proven = true, .smallest_found = {}, .op = {}, .dominant = {}};
        const Result<Outcome> outcome = solve_told(graph, answer, Bytes(budget), {.what = what});
        EXPECT_TRUE(outcome && outcome->infeasible());
        return *outcome->infeasible();
    };
    // The backward op of `b` needs the most bytes: `a`, `b`, both gradients and `x`.
    EXPECT_TRUE(none_at(409, Offload::activations).proven);
    EXPECT_FALSE(none_at(410, Offload::activations).proven);
    EXPECT_EQ(none_at(410, Offload::activations).over, ScheduleClass::with_activation_copies);
    EXPECT_FALSE(none_at(409, Offload::weights).proven) << "x need not be there";
    EXPECT_TRUE(none_at(399, Offload::weights).proven);
    EXPECT_EQ(none_at(399, Offload::all).needed, Bytes(400));
    EXPECT_EQ(none_at(399, Offload::all).op, OpId(3));
    EXPECT_TRUE(none_at(399, Offload::none).proven);
}

TEST(PlannedCopies, WhatTheHostHasNoRoomForIsNeededOnTheDevice) {
    const Graph graph = small_graph();
    const auto none_at = [&](std::int64_t budget, std::optional<Bytes> host, std::int64_t found) {
        const Infeasible answer{.needed = Bytes(1),
                                .over = ScheduleClass::with_copies,
                                .smallest_found = Bytes(found),
                                .op = {},
                                .dominant = {}};
        const Result<Outcome> outcome =
            solve_told(graph, answer, Bytes(budget), {.what = Offload::weights, .host_budget = host});
        EXPECT_TRUE(outcome && outcome->infeasible());
        return *outcome->infeasible();
    };
    EXPECT_EQ(none_at(300, {}, 500).needed, Bytes(400)) << "what the backward op of b has to have there";
    const Infeasible without_room = none_at(405, Bytes(0), 500);
    EXPECT_EQ(without_room.needed, Bytes(410)) << "as without copies";
    EXPECT_TRUE(without_room.proven);
    EXPECT_EQ(without_room.over, ScheduleClass::with_copies);
    EXPECT_EQ(none_at(405, Bytes(4), 500).needed, Bytes(406));
    EXPECT_FALSE(none_at(405, Bytes(5), 500).proven);
    EXPECT_EQ(none_at(405, Bytes(5), 500).smallest_found, Bytes(500));
}

TEST(PlannedCopies, NoBudgetIsRefusedAndFoundToWorkAtOnce) {
    const Graph graph = small_graph();
    for (const Offload what : {Offload::none, Offload::activations, Offload::all}) {
        for (const std::int64_t found : {399, 450}) {
            const Infeasible answer{
                .needed = Bytes(1), .smallest_found = Bytes(found), .op = {}, .dominant = {}};
            const Result<Outcome> outcome = solve_told(graph, answer, Bytes(450), {.what = what});
            ASSERT_TRUE(outcome && outcome->infeasible());
            EXPECT_EQ(outcome->infeasible()->smallest_found, std::nullopt);
        }
    }
}

TEST(PlannedCopies, SweepsBeginWhereSomeCurveHasASchedule) {
    int later = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        Graph graph = random_training_graph(seed, {.forward_ops = 4});
        graph.device = Device{.name = "d", .memory = {}, .links = kLinks};
        const Copies all{.what = Offload::all, .links = kLinks};
        SweepOptions options{.solvers = {"atlas"}, .count = 5};
        options.copies = {Copies{}, all};
        options.limits.time = std::chrono::milliseconds(300);
        const Result<Sweep> sweep = run_sweep(graph, options);
        ASSERT_TRUE(sweep) << sweep.error().message;
        ASSERT_EQ(sweep->curves.size(), 2u);
        bool some = false;
        for (const SweepCurve& curve : sweep->curves) {
            ASSERT_FALSE(curve.points.empty());
            EXPECT_EQ(curve.points.size(), sweep->curves[0].points.size());
            some = some || curve.points.front().status != "infeasible";
        }
        EXPECT_TRUE(some) << graph.name;
        const FlatGraph flat = flatten(graph);
        later += sweep->curves[0].points.front().budget > least_needed({graph, flat, all});
    }
    EXPECT_GT(later, 0) << "some step needs more than its heaviest op";
}

TEST(PlannedCopies, AreRefusedToSolversThatMakeNone) {
    Graph graph = small_graph();
    graph.device = Device{.name = "d", .memory = {}, .links = kLinks};
    const Copies copies{.what = Offload::activations};
    const Result<Outcome> outcome =
        solve(graph, {.solver = "rotor", .budget = Bytes(1000), .copies = copies});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, StartsWith("solver rotor does not plan copies of activations"));
    EXPECT_FALSE(run_sweep(graph, {.solvers = {"rotor"}, .limits = {}, .copies = {copies}}));
    const auto capture = [&](std::int64_t) -> Result<Graph> { return graph; };
    EXPECT_FALSE(largest_batch(
        capture,
        {.budget = Bytes(1000), .max_overhead = {}, .solver = "rotor", .copies = copies, .limits = {}}));
    EXPECT_TRUE(solve(graph, {.solver = "rotor", .budget = Bytes(1000)}));
}

TEST(PlannedCopies, NeedLinks) {
    const Graph graph = small_graph();
    const Result<Copies> unknown = copies_for(graph, "told", {.what = Offload::all});
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, HasSubstr("--device-profile"));
    const Result<Copies> given = copies_for(graph, "told", {.what = Offload::all, .links = kLinks});
    ASSERT_TRUE(given);
    EXPECT_EQ(given->links, kLinks);
    Graph linked = graph;
    linked.device = Device{.name = "d", .memory = {}, .links = kLinks};
    EXPECT_EQ(copies_for(linked, "told", {.what = Offload::all})->links, kLinks);
    EXPECT_TRUE(copies_for(graph, "rotor", {}));
}

TEST(Offload, LeavesWhatAModelReturnsOnTheDevice) {
    Graph graph = small_graph();
    const TensorId result = graph.results.front();
    for (TensorKind kind : {TensorKind::activation, TensorKind::gradient}) {
        graph.tensors[result].kind = kind;
        for (Offload what : {Offload::none, Offload::activations, Offload::weights, Offload::all})
            EXPECT_EQ(may_end_on_host(graph, {.what = what})[result] != 0,
                      kind == TensorKind::gradient && moves_weights(what));
    }
}

TEST(Offload, SaysWhatMayLeave) {
    Graph graph = small_graph();
    Op update;
    update.name = "update";
    update.phase = Phase::optimizer;
    update.inputs = {TensorId(4)};
    update.mutates = {TensorId(0)};
    graph.ops.push_back(update);
    graph.tensors[TensorId(0)].kind = TensorKind::parameter;
    graph.tensors.push_back(
        {"workspace", Bytes(64), TensorKind::constant});  // a tensor that no op of the step uses
    const auto leaving = [&](Offload what) {
        std::vector<int> ids;
        const IdVector<TensorId, char> allowed = may_leave(graph, {.what = what});
        for (TensorId t : graph.tensors.ids())
            if (allowed[t]) ids.push_back(t.value);
        return ids;
    };
    EXPECT_EQ(leaving(Offload::none), std::vector<int>());
    EXPECT_EQ(leaving(Offload::activations), (std::vector{1, 2, 3, 4, 5}));
    EXPECT_EQ(leaving(Offload::weights), (std::vector{0, 4, 5})) << "what the update reads, and the result";
    EXPECT_EQ(leaving(Offload::all), (std::vector{0, 1, 2, 3, 4, 5}));
    graph.tensors[TensorId(0)].kind = TensorKind::input;
    EXPECT_EQ(leaving(Offload::all), (std::vector{1, 2, 3, 4, 5})) << "inputs are the caller's";
    for (Offload what : {Offload::none, Offload::activations, Offload::weights, Offload::all})
        EXPECT_EQ(offload_from(to_string(what)), what);
    EXPECT_FALSE(offload_from("everything"));
    EXPECT_TRUE(is_within(Offload::weights, Offload::all) &&
                !is_within(Offload::weights, Offload::activations));
}

}  // namespace
}  // namespace rematlas
