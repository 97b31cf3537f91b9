// Tests all solvers under pins: an answer obeys the pins, or nothing is found, and no answer is below its
// bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/ending_solvers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/graphs_of_each_kind.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

Pins random_pins(const Graph& graph, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Pins pins;
    for (std::uint64_t i = 0; i <= random() % 4; ++i) {
        const Op& op = graph.ops[OpId(random() % graph.ops.size())];
        const PinKind kind = random() % 2 ? PinKind::keep : PinKind::recompute;
        const bool tensor = op.module.empty() || random() % 2;
        const std::string name = op.outputs.empty() ? "#0" : graph.tensors[op.outputs.front()].name;
        pins.push_back({tensor ? name : op.module, kind});
    }
    return pins;
}

nlohmann::json brief() {
    return {{"max_moves", 6000}, {"first_cycle", 1000}};
}

/// The solvers that do not end by themselves get a few milliseconds. Their answers depend on the machine, so
/// these answers are only checked, not counted.
TEST(Pins, EverySolverObeysThemOrFindsNothing) {
    int found = 0, recomputed = 0;
    for (const GraphOfAKind& of : graphs_of_each_kind()) {
        for (std::uint64_t seed = 0; seed < 2; ++seed) {
            const Pins pins = random_pins(of.graph, seed);
            for (const SolverEntry* solver : all_solvers()) {
                const std::string what = of.name + " " + std::string(solver->traits.name);
                const bool counts = ends_by_itself(solver->traits.name);
                const Result<Outcome> outcome = solve(of.graph, {.solver = std::string(solver->traits.name),
                                                                 .budget = of.budgets.back(),
                                                                 .limits = {.time = counts ? 1h : 30ms},
                                                                 .pins = pins});
                if (!outcome) {
                    EXPECT_THAT(outcome.error().message, testing::HasSubstr("pin")) << what;
                    break;  // the pins cannot be obeyed, whichever solver is used
                }
                if (const Infeasible* none = outcome->infeasible()) {
                    EXPECT_TRUE(none->without_pins) << what;
                    EXPECT_EQ(none->proven, none->needed > of.budgets.back()) << what;
                    continue;
                }
                const Schedule& schedule = *outcome->schedule();
                EXPECT_EQ(schedule.pins, pins);
                const CheckReport report = check(of.graph, schedule);
                EXPECT_TRUE(report.ok()) << what << ": " << report.violations.front();
                ASSERT_TRUE(schedule.bound) << what;
                EXPECT_LE(schedule.bound->overhead, schedule.overhead * (1 + 1e-9)) << what;
                found += counts;
                recomputed += counts && report.reruns > 0;
            }
        }
    }
    EXPECT_GT(found, 40);
    EXPECT_GT(recomputed, 20);
}

TEST(Pins, NoneChangesNothing) {
    const Graph graph = gpt_graph({.layers = 1});
    SolveRequest request{.solver = "rotor", .budget = *parse_budget("80%")};
    const Result<Outcome> before = solve(graph, request);
    request.pins = {};
    const Result<Outcome> after = solve(graph, request);
    ASSERT_TRUE(before && after && before->schedule() && after->schedule());
    EXPECT_EQ(before->schedule()->steps, after->schedule()->steps);
    EXPECT_TRUE(after->schedule()->pins.empty());
}

TEST(Pins, ABlockThatIsPinnedIsRecomputedThoughThereIsRoom) {
    const Graph graph = gpt_graph({.layers = 2});
    const FlatGraph flat = flatten(graph);
    std::string module;
    for (const Op& op : graph.ops) {
        if (op.phase == Phase::forward && op.name.find("softmax") != std::string::npos) module = op.module;
    }
    ASSERT_FALSE(module.empty());
    const Result<Outcome> outcome = solve(graph, {.budget = keep_all_peak(flat),
                                                  .limits = {.time = 1h, .gap = 1},
                                                  .pins = {{module, PinKind::recompute}}});
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->schedule());
    const Schedule& schedule = *outcome->schedule();
    EXPECT_GT(schedule.overhead, 1.0);
    EXPECT_LT(schedule.peak, keep_all_peak(flat));
    ASSERT_TRUE(schedule.bound);
    EXPECT_GT(schedule.bound->overhead, 1.0) << "of the pinned step, which is not that of the graph";
    EXPECT_TRUE(check(graph, schedule).ok());
}

TEST(Pins, WhatIsProvenUnderThemIsToldBesideWhatWorksWithout) {
    const Result<Graph> graph =
        read_graph(std::filesystem::path(REMATLAS_SOURCE_DIR) / "resources/graphs/gpt.graph.json");
    ASSERT_TRUE(graph);
    SolveRequest request{.options = std::make_shared<nlohmann::json>(brief()),
                         .budget = *parse_budget("69%"),
                         .limits = {.time = 1h}};
    const Result<Outcome> without = solve(*graph, request);
    ASSERT_TRUE(without && without->schedule());
    request.pins = {{"blocks.*.attn", PinKind::keep}};
    const Result<Outcome> under = solve(*graph, request);
    ASSERT_TRUE(under) << under.error().message;
    ASSERT_TRUE(under->infeasible() && under->infeasible()->without_pins);
    EXPECT_LE(*under->infeasible()->without_pins, under->budget);
    ASSERT_TRUE(under->infeasible()->under_pins);
    EXPECT_GT(*under->infeasible()->under_pins, under->budget);
    const SolveRequest enough{
        .budget = *under->infeasible()->under_pins, .limits = {.time = 1h, .gap = 1}, .pins = request.pins};
    const Result<Outcome> found = solve(*graph, enough);
    EXPECT_TRUE(found && found->schedule());
    request.budget = *parse_budget("50%");
    const Result<Outcome> less = solve(*graph, request);
    request.pins = {};
    const Result<Outcome> least = solve(*graph, request);
    ASSERT_TRUE(less && less->infeasible() && least && least->infeasible());
    EXPECT_TRUE(less->infeasible()->proven);
    EXPECT_GT(less->infeasible()->needed, least->infeasible()->needed);
    EXPECT_FALSE(least->infeasible()->without_pins);
}

TEST(Pins, WrongOnesAreAnErrorBeforeAnythingIsSolved) {
    const Graph graph = gpt_graph({.layers = 1});
    const Result<Outcome> nothing =
        solve(graph, {.budget = *parse_budget("80%"), .pins = {{"nowhere", PinKind::keep}}});
    ASSERT_FALSE(nothing);
    EXPECT_THAT(nothing.error().message, testing::HasSubstr("nowhere=keep"));
    EXPECT_FALSE(
        run_sweep(graph, {.solvers = {"keep-all"}, .limits = {}, .pins = {{"nowhere", PinKind::keep}}}));
}

TEST(Pins, ASweepObeysThemAtEveryPoint) {
    const Graph graph = random_training_graph(11, {.forward_ops = 10, .run_once = false});
    const Pins pins = {{"#2", PinKind::recompute}, {"#4", PinKind::keep}};
    const Bytes most = keep_all_peak(flatten(graph));
    const Result<Sweep> sweep =
        run_sweep(graph, {.solvers = {"atlas", "dtr", "keep-all"},
                          .budgets = even_budgets(Bytes(most.value * 7 / 10), most, 4),
                          .limits = {.time = 4s},
                          .pins = pins});
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->pins, pins);
    int points = 0;
    for (const SweepCurve& curve : sweep->curves) {
        for (const SweepPoint& point : curve.points) {
            Schedule schedule;
            schedule.steps = point.steps;
            schedule.pins = pins;
            if (point.status == "infeasible") continue;
            EXPECT_TRUE(check(graph, schedule, point.budget).ok()) << curve.solver;
            points += curve.solver != "atlas";
        }
    }
    EXPECT_GT(points, 0) << "of solvers that end by themselves";
    const Result<Sweep> read = parse_sweep(sweep_text(*sweep), "s");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->pins, pins);
}

TEST(Pins, StandBesideCopiesToTheHost) {
    int with_both = 0, compared = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Graph graph = random_graph_with_links(seed);
        if (seed % 3 == 0)
            graph.device->links = {.to_host_bytes_per_second = 1e11, .to_device_bytes_per_second = 1e11};
        SolveRequest request{.solver = seed % 4 == 0 ? "offmate" : "atlas",
                             .options = seed % 4 == 0 ? nullptr : std::make_shared<nlohmann::json>(brief()),
                             .budget = *parse_budget("92%"),
                             .limits = {.time = seed % 4 == 0 ? 300ms : 1h},
                             .pins = random_pins(graph, seed)};
        const Result<Outcome> without = solve(graph, request);
        request.copies.what = seed % 2 == 0 ? Offload::activations : Offload::all;
        const Result<Outcome> with = solve(graph, request);
        ASSERT_EQ(static_cast<bool>(with), static_cast<bool>(without)) << graph.name;
        if (!with) {
            EXPECT_THAT(with.error().message, testing::HasSubstr("pin")) << graph.name;
            continue;
        }
        const Schedule* schedule = with->schedule();
        if (schedule) {
            EXPECT_EQ(schedule->pins, request.pins);
            EXPECT_TRUE(check(graph, *schedule).ok()) << graph.name;
            with_both += class_of(schedule->steps) > ScheduleClass::any_order;
        }
        if (!without->schedule() || request.solver != "atlas") continue;
        ASSERT_TRUE(schedule) << graph.name;
        EXPECT_LE(schedule->time, without->schedule()->time) << graph.name;
        ++compared;
    }
    EXPECT_GT(with_both, 3);
    EXPECT_GT(compared, 3);
}

/// A pinned tensor that is made before the loss is replaced by another tensor after the loss. When copies to
/// the host are planned, the two count as one tensor.
TEST(Pins, ABlockIsRecomputedBesideCopies) {
    Graph graph = gpt_graph({.layers = 2});
    graph.device = Device{.name = "d",
                          .memory = {},
                          .links = {.to_host_bytes_per_second = 1e12, .to_device_bytes_per_second = 1e12}};
    std::string module;
    for (const Op& op : graph.ops)
        if (op.phase == Phase::forward && op.name.find("softmax") != std::string::npos) module = op.module;
    SolveRequest request{.options = std::make_shared<nlohmann::json>(brief()),
                         .budget = *parse_budget("100%"),
                         .limits = {.time = 1h},
                         .pins = {{module, PinKind::recompute}}};
    const Result<Outcome> roomy = solve(graph, request);
    ASSERT_TRUE(roomy && roomy->schedule());
    request.budget = *parse_budget(std::to_string(roomy->schedule()->peak.value * 95 / 100));
    const Result<Outcome> without = solve(graph, request);
    request.copies.what = Offload::activations;
    const Result<Outcome> with = solve(graph, request);
    ASSERT_TRUE(with && without) << with.error().message;
    ASSERT_TRUE(with->schedule());
    ASSERT_TRUE(without->schedule());
    EXPECT_LT(with->schedule()->time, without->schedule()->time);
    EXPECT_GT(with->schedule()->overhead, 1.0) << "the pin costs what it costs";
    EXPECT_EQ(class_of(with->schedule()->steps), ScheduleClass::with_copies);
    EXPECT_TRUE(check(graph, *with->schedule()).ok());
}

TEST(Pins, WithAnArenaTheyAreObeyedToo) {
    const Graph graph = gpt_graph({.layers = 1});
    const Result<Outcome> outcome = solve(graph, {.budget = *parse_budget("100%"),
                                                  .arena = true,
                                                  .limits = {.time = 1h, .gap = 1},
                                                  .pins = {{"#2", PinKind::recompute}}});
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->schedule());
    EXPECT_TRUE(outcome->schedule()->addresses);
    EXPECT_TRUE(check(graph, *outcome->schedule()).ok());
}

}  // namespace
}  // namespace rematlas
