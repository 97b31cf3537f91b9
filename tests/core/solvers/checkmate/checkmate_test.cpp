#include "core/solvers/checkmate/checkmate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/checking/check.h"
#include "core/milp/milp.h"
#include "core/milp/milp_thread.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/staged/staged_model.h"
#include "core/solving/answers.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/market_split.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"
#include "tests/core/support/staged_schedules.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

class Milp : public testing::TestWithParam<MilpLibrary> {};

TEST_P(Milp, SolvesAKnapsackToOptimality) {
    MilpModel model;
    std::vector<std::pair<int, double>> weights;
    const double value[] = {10, 13, 7, 8, 12}, weight[] = {3, 4, 2, 3, 4};
    for (int i = 0; i < 5; ++i) {
        const int item = model.add_column({.lower = 0, .upper = 1, .cost = -value[i], .integer = true});
        weights.emplace_back(item, weight[i]);
    }
    model.add_row(-kInfinite, 8, weights);
    model.offset = 100;
    const Result<MilpAnswer> answer = solve_milp(GetParam(), model, {.relative_gap = 0});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, MilpStatus::optimal);
    EXPECT_NEAR(answer->objective, 100 - 25, 1e-6);
    EXPECT_NEAR(answer->bound, 100 - 25, 1e-4);
    const Result<MilpAnswer> relaxed = solve_milp(GetParam(), model, {.relaxed = true});
    ASSERT_TRUE(relaxed);
    EXPECT_EQ(relaxed->status, MilpStatus::optimal);
    EXPECT_LT(relaxed->objective, 75 - 1e-6);
}

TEST_P(Milp, SaysWhenNothingIsFeasible) {
    MilpModel model;
    const int x = model.add_column({.lower = 0, .upper = 1, .cost = 1, .integer = true});
    const int y = model.add_column({.lower = 0, .upper = 1, .cost = 1, .integer = true});
    model.add_row(2.5, kInfinite, std::vector<std::pair<int, double>>{{x, 1.0}, {y, 1.0}});
    const Result<MilpAnswer> answer = solve_milp(GetParam(), model);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, MilpStatus::infeasible);
    EXPECT_TRUE(answer->values.empty());
}

TEST_P(Milp, WithoutWholeColumnsTheBoundIsTheOptimum) {
    MilpModel model;
    const int x = model.add_column({.lower = 0, .upper = 1, .cost = 3});
    const int y = model.add_column({.lower = 0, .upper = 1, .cost = 2});
    model.add_row(1.5, kInfinite, std::vector<std::pair<int, double>>{{x, 1.0}, {y, 1.0}});
    const Result<MilpAnswer> answer = solve_milp(GetParam(), model);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, MilpStatus::optimal);
    EXPECT_NEAR(answer->objective, 3.5, 1e-9);
    EXPECT_NEAR(answer->bound, 3.5, 1e-4);
}

TEST_P(Milp, AStopBeforeTheStartLeavesNoAnswer) {
    std::stop_source stop;
    stop.request_stop();
    const MilpModel model = market_split();
    const Result<MilpAnswer> answer =
        solve_milp(GetParam(), model, {.time = 1h, .stop = stop.get_token(), .relative_gap = 0});
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->status, MilpStatus::optimal);
    EXPECT_LT(answer->bound, answer->objective);
}

TEST_P(Milp, TellsItsBoundBeforeItEnds) {
    const Graph graph = random_training_graph(160, {.forward_ops = 7, .run_once = false});
    const FlatGraph flat = flatten(graph);
    const StagedModel model(flat, (least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2);
    std::vector<double> bounds;
    const auto progress = [&](const MilpNews& now) {
        if (std::isfinite(now.bound)) bounds.push_back(now.bound);
    };
    const Result<MilpAnswer> answer =
        solve_milp(GetParam(), model.milp(), {.time = 1h, .progress = progress});
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->status, MilpStatus::optimal);
    ASSERT_FALSE(bounds.empty());
    for (double bound : bounds) EXPECT_LE(bound, answer->objective * (1 + 1e-7));
}

TEST(Checkmate, ReportsABoundOnTheWay) {
    for (MilpLibrary library : milp_libraries()) {
        const Graph graph = random_training_graph(160, {.forward_ops = 7, .run_once = false});
        const FlatGraph flat = flatten(graph);
        const Bytes budget((least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2);
        const nlohmann::json options = {{"milp", to_string(library)}, {"warm_up", 0}};
        std::vector<ProgressReport> reports;
        const Result<Outcome> outcome = solve(graph,
                                              {.solver = "checkmate",
                                               .options = std::make_shared<const nlohmann::json>(options),
                                               .budget = budget,
                                               .limits = {.time = 1h}},
                                              [&](const ProgressReport& found) { reports.push_back(found); });
        ASSERT_TRUE(outcome) << outcome.error().message;
        ASSERT_TRUE(outcome->schedule());
        int with_bound = 0;
        for (const ProgressReport& report : reports) {
            EXPECT_LE(report.bound.value_or(0), outcome->schedule()->overhead * (1 + 1e-9));
            with_bound += report.bound.has_value();
        }
        EXPECT_GT(with_bound, 0) << to_string(library);
    }
}

TEST(Checkmate, IsTheExhaustiveOptimumOfItsClass) {
    int compared = 0, recomputed = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Graph graph = random_training_graph(
            seed, {.forward_ops = 2, .several_outputs = seed % 2 == 0, .free_ops = false});
        const FlatGraph flat = flatten(graph);
        if (required_once(flat).size() > 6) continue;
        const std::int64_t low = least_peak(flat).bytes.value, high = keep_all_peak(flat).value;
        for (std::int64_t budget : {low, (low + high) / 2, high - 1}) {
            if (budget < low || budget >= high) continue;
            const std::int64_t optimum = staged_optimum(flat, budget);
            const StagedModel model(flat, budget);
            for (MilpLibrary library : milp_libraries()) {
                const Result<MilpAnswer> answer =
                    solve_milp(library, model.milp(), {.time = 1h, .relative_gap = 1e-7});
                ASSERT_TRUE(answer) << answer.error().message;
                if (optimum == kNoStagedSchedule) {
                    EXPECT_EQ(answer->status, MilpStatus::infeasible) << seed << " at " << budget;
                    continue;
                }
                ASSERT_EQ(answer->status, MilpStatus::optimal) << seed << " at " << budget;
                const RunSequence runs = model.decode(answer->values);
                ASSERT_TRUE(is_executable(flat, runs));
                EXPECT_EQ(cost_of(flat, runs).time, optimum)
                    << to_string(library) << ", seed " << seed << " at " << budget;
                EXPECT_LE(cost_of(flat, runs).peak, budget);
                EXPECT_NEAR(model.time_of(answer->objective), double(optimum), 1e-4);
                ++compared;
                recomputed += runs.size() > required_once(flat).size();
            }
        }
    }
    const int libraries = static_cast<int>(milp_libraries().size());
    EXPECT_GE(compared, 40 * libraries);
    EXPECT_GE(recomputed, 20 * libraries);
}

TEST(Checkmate, TheFormThatMinimizesThePeakFindsTheLeastOfItsClassWithinTheTime) {
    int compared = 0, smaller = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        const Graph graph = graph_to_enumerate(seed);
        const FlatGraph flat = flatten(graph);
        const RunSequence once = required_once(flat);
        if (once.size() > 6) continue;
        const SequenceCost known = cost_of(flat, once);
        for (std::int64_t percent : {100, 115, 140, 1000}) {
            const std::int64_t most_time = known.time * percent / 100;
            const std::int64_t least = staged_least_peak(flat, most_time);
            const StagedModel model(flat, known.peak, {.most_time = most_time});
            for (MilpLibrary library : milp_libraries()) {
                const Result<MilpAnswer> answer =
                    solve_milp(library, model.milp(), {.time = 1h, .relative_gap = 1e-7});
                ASSERT_TRUE(answer) << answer.error().message;
                ASSERT_EQ(answer->status, MilpStatus::optimal) << seed << " within " << percent << " %";
                const RunSequence runs = model.decode(answer->values);
                ASSERT_TRUE(is_executable(flat, runs));
                EXPECT_EQ(cost_of(flat, runs).peak, least)
                    << to_string(library) << ", seed " << seed << " within " << percent << " %";
                EXPECT_LE(cost_of(flat, runs).time, most_time);
                EXPECT_NEAR(model.peak_of(answer->objective), double(least), 1e-3);
                ++compared;
                smaller += least < known.peak;
            }
        }
    }
    const int libraries = static_cast<int>(milp_libraries().size());
    EXPECT_GE(compared, 300 * libraries);
    EXPECT_GE(smaller, 60 * libraries);
}

TEST(Checkmate, AnOpRunsInPlaceWithAllItsPairsOrNone) {
    const FlatGraph flat = flatten(graph_of_two_pairs());
    const StagedModel model(flat, 30);
    for (MilpLibrary library : milp_libraries()) {
        const Result<MilpAnswer> answer = solve_milp(library, model.milp(), {.relative_gap = 0});
        ASSERT_TRUE(answer) << answer.error().message;
        ASSERT_EQ(answer->status, MilpStatus::optimal);
        const SequenceCost cost = cost_of(flat, model.decode(answer->values));
        EXPECT_EQ(cost.time, 25);
        EXPECT_EQ(cost.peak, 30);
        EXPECT_NEAR(model.time_of(answer->objective), 25, 1e-6);
    }
}

TEST(Checkmate, AByteTooFewIsNoRoundingErrorHoweverLargeTheSizes) {
    Graph graph = small_graph();
    for (Tensor& tensor : graph.tensors) tensor.bytes.value <<= 44;
    graph.ops[OpId(1)].workspace.value <<= 44;
    const FlatGraph flat = flatten(graph);
    for (MilpLibrary library : milp_libraries()) {
        const StagedModel model(flat, keep_all_peak(flat).value - 1);
        const Result<MilpAnswer> answer = solve_milp(library, model.milp());
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->status, MilpStatus::infeasible) << "the last two ops need all that there is";
    }
}

Result<Outcome> solved(const Graph& graph, const nlohmann::json& options, Bytes budget) {
    return solve(graph, {.solver = "checkmate",
                         .options = std::make_shared<const nlohmann::json>(options),
                         .budget = budget,
                         .limits = {.time = 1h}});
}

TEST(Checkmate, EndsAtTheGapAskedForAndIsOptimalWithoutOneOnly) {
    const Graph graph = random_training_graph(160, {.forward_ops = 7, .run_once = false});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2);
    for (MilpLibrary library : milp_libraries()) {
        for (const double gap : {0.2, 0.05, 1e-6}) {
            SCOPED_TRACE(gap);
            const nlohmann::json options = {{"milp", to_string(library)}, {"warm_up", 0}, {"gap", gap}};
            const Result<Outcome> outcome = solved(graph, options, budget);
            ASSERT_TRUE(outcome) << outcome.error().message;
            const Schedule* schedule = outcome->schedule();
            ASSERT_TRUE(schedule);
            EXPECT_LE(schedule->bound->gap, gap * (1 + 1e-9));
            EXPECT_EQ(schedule->status == "optimal", schedule->bound->gap <= 1e-9);
            // Times are small integers here, so a gap of at most a millionth can only be 0.
            if (gap < 1e-5) {
                EXPECT_EQ(schedule->status, "optimal");
            }
        }
    }
}

TEST(Checkmate, TellsTheNodesAndTheTimeOfItsProof) {
    for (MilpLibrary library : milp_libraries()) {
        const nlohmann::json options = {{"milp", to_string(library)}, {"warm_up", 0}, {"gap", 0}};
        int answers = 0;
        std::int64_t nodes = 0;
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            const Graph graph = random_training_graph(seed, {.forward_ops = 5, .run_once = false});
            const FlatGraph flat = flatten(graph);
            const Bytes budget((least_peak(flat).bytes.value * 2 + keep_all_peak(flat).value) / 3);
            const Result<Outcome> outcome = solved(graph, options, budget);
            ASSERT_TRUE(outcome) << outcome.error().message;
            const Schedule* schedule = outcome->schedule();
            if (!schedule || schedule->overhead == 1) continue;
            ASSERT_TRUE(schedule->bound);
            EXPECT_TRUE(schedule->bound->over);
            EXPECT_GT(schedule->bound->seconds, 0);
            ASSERT_TRUE(schedule->bound->nodes) << to_string(library) << ", seed " << seed;
            EXPECT_GE(*schedule->bound->nodes, 0);
            nodes += *schedule->bound->nodes;
            ++answers;
        }
        EXPECT_GE(answers, 6);
        EXPECT_GT(nodes, 0) << to_string(library) << " never branched";
    }
}

TEST(Checkmate, ItsAnswersAreNeverBelowTheBruteForceOptimumAndItsBoundHolds) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    int bounds = 0;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 3});
        const FlatGraph flat = flatten(graph);
        const std::int64_t low = brute_force_least_peak(flat), high = keep_all_peak(flat).value;
        for (std::int64_t budget : {low, (low + high) / 2}) {
            const auto best = brute_force(flat, budget);
            ASSERT_TRUE(best);
            const Result<Outcome> outcome =
                solve(graph, {.solver = "checkmate", .budget = Bytes(budget), .limits = {.time = 60s}});
            ASSERT_TRUE(outcome) << outcome.error().message;
            const Schedule* schedule = outcome->schedule();
            ASSERT_TRUE(schedule) << "atlas starts it";
            EXPECT_GE(schedule->time.value, best->time);
            if (schedule->bound && schedule->bound->over == ScheduleClass::any_order) {
                EXPECT_LE(schedule->bound->overhead * static_cast<double>(flat.base_time),
                          static_cast<double>(best->time) + 1e-6);
                ++bounds;
            }
            EXPECT_TRUE(check(graph, *schedule, Bytes(budget)).ok());
        }
    }
    EXPECT_GT(bounds, 25);
}

TEST(CheckmateLp, IsNeverWorseThanItsStartsNorBelowTheOptimumAndFitsTheBudget) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    int better = 0, answers = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 7, .run_once = false});
        const FlatGraph flat = flatten(graph);
        const Bytes budget((least_peak(flat).bytes.value + 2 * keep_all_peak(flat).value) / 3);
        const Result<Outcome> rounded =
            solve(graph, {.solver = "checkmate-lp", .budget = budget, .limits = {.time = 1h}});
        ASSERT_TRUE(rounded) << rounded.error().message;
        for (const char* start : {"chen-greedy", "chen-sqrt", "dtr"}) {
            const Result<Outcome> other =
                solve(graph, {.solver = start, .budget = budget, .limits = {.time = 1h}});
            ASSERT_TRUE(other);
            if (!other->schedule()) continue;
            ASSERT_TRUE(rounded->schedule());
            EXPECT_LE(rounded->schedule()->time, other->schedule()->time) << start << ", seed " << seed;
        }
        if (!rounded->schedule()) continue;
        ++answers;
        EXPECT_TRUE(check(graph, *rounded->schedule(), budget).ok());
        ASSERT_TRUE(rounded->schedule()->bound);
        better += rounded->schedule()->bound->gap < 0.05;
    }
    EXPECT_GE(answers, 6);
    EXPECT_GE(better, 2);
}

TEST_P(Milp, WhatRoundsOverTheBudgetIsRepaired) {
    const nlohmann::json options = {{"milp", to_string(GetParam())}};
    int near = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 3, .run_once = false});
        const FlatGraph flat = flatten(graph);
        const std::int64_t budget = (3 * brute_force_least_peak(flat) + keep_all_peak(flat).value) / 4;
        const auto outcome = solve(graph, {.solver = "checkmate-lp",
                                           .options = std::make_shared<const nlohmann::json>(options),
                                           .budget = Bytes(budget),
                                           .limits = {.time = 1h}});
        ASSERT_TRUE(outcome) << outcome.error().message;
        if (!outcome->schedule()) continue;
        EXPECT_TRUE(check(graph, *outcome->schedule(), Bytes(budget)).ok());
        near += outcome->schedule()->time.value <= brute_force(flat, budget)->time * 1.05;
    }
    EXPECT_GE(near, 8) << "6 without";
}

/// `encode` turns a schedule into a point from which the integer program can start. It must be the inverse of
/// `decode`, and the point must be feasible.
TEST(Checkmate, AScheduleOfTheClassIsAPointOfTheProgramme) {
    int encoded = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 5});
        const FlatGraph flat = flatten(graph);
        const RunSequence runs = required_once(flat);
        const std::int64_t budget = cost_of(flat, runs).peak;
        for (const bool peak : {false, true}) {
            const StagedModel model(flat, budget,
                                    {.most_time = peak ? std::optional(flat.base_time) : std::nullopt});
            const auto point = model.encode(runs);
            ASSERT_TRUE(point);
            EXPECT_EQ(model.decode(*point), runs);
            const MilpModel& milp = model.milp();
            for (std::size_t row = 0; row < milp.rows(); ++row) {
                double sum = 0;
                for (int k = milp.row_begin[row]; k < milp.row_begin[row + 1]; ++k)
                    sum += milp.value[k] * (*point)[milp.index[k]];
                EXPECT_GE(sum, milp.row_lower[row] - 1e-6) << "seed " << seed << ", row " << row;
                EXPECT_LE(sum, milp.row_upper[row] + 1e-6) << "seed " << seed << ", row " << row;
            }
            ++encoded;
        }
    }
    EXPECT_EQ(encoded, 60);
}

TEST(Checkmate, AStopReturnsTheBestSoFar) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    const Graph graph = random_training_graph(5, {.forward_ops = 30, .run_once = false});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((least_peak(flat).bytes.value * 2 + keep_all_peak(flat).value) / 3);
    std::stop_source stop;
    int reports = 0;
    const Result<Outcome> outcome = solve(
        graph, {.solver = "checkmate", .budget = budget, .limits = {.time = 10min, .stop = stop.get_token()}},
        [&](const ProgressReport&) {
            ++reports;
            stop.request_stop();
        });
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_GT(reports, 0);
    EXPECT_TRUE(outcome->schedule());
}

TEST(Checkmate, RefusesALibraryThatThisBuildLacksAndUnknownKeys) {
    const nlohmann::json wrong = {{"milp", "cplex"}};
    EXPECT_FALSE(make_solver("checkmate", &wrong));
    const nlohmann::json unknown = {{"stages", 3}};
    EXPECT_FALSE(make_solver("checkmate", &unknown));
}

TEST_P(Milp, ProgrammesThatTheirCallersLeftDoNotKeepOthersFromTheirs) {
    const FlatGraph graph = flatten(random_training_graph(3, {.forward_ops = 14}));
    const std::int64_t budget =
        (least_peak(graph).bytes.value + cost_of(graph, required_once(graph)).peak) / 2;
    const auto model = std::make_shared<const StagedModel>(graph, budget);
    const std::shared_ptr<const MilpModel> programme(model, &model->milp());
    for (int left = 0; left < 6; ++left) MilpThread(GetParam(), programme, {});
    auto small = std::make_shared<MilpModel>();
    small->add_column({.lower = 1, .upper = 3, .cost = 1, .integer = true});
    MilpThread thread(GetParam(), small, {});
    std::optional<Result<MilpAnswer>> answer;
    while (!answer) answer = thread.news(20ms).answer;
    ASSERT_TRUE(*answer);
    EXPECT_EQ((*answer)->objective, 1);
}

INSTANTIATE_TEST_SUITE_P(Libraries, Milp, testing::ValuesIn(milp_libraries().begin(), milp_libraries().end()),
                         [](const auto& info) { return std::string(to_string(info.param)); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Milp);

}  // namespace
}  // namespace rematlas
