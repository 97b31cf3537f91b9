#include "core/solvers/checkmate/least_peak_within.h"

#include <gtest/gtest.h>

#include "core/bounds/least_memory.h"
#include "core/bounds/one_moment.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor.h"
#include "core/solvers/staged/staged_model.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/staged_schedules.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

TEST(LeastPeakWithin, IsAtMostThatOfTheClassAndItsBoundsHold) {
    int optimal = 0, smaller = 0, answers = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const Graph graph = graph_to_enumerate(seed);
        const FlatGraph flat = flatten(graph);
        const RunSequence once = required_once(flat);
        if (once.size() > 6) continue;
        const SequenceCost known = cost_of(flat, once);
        const std::int64_t percent = 100 + 10 * static_cast<std::int64_t>(seed % 5 * (seed % 5));
        const std::int64_t most_time = known.time * percent / 100;
        const std::int64_t least = staged_least_peak(flat, most_time);
        for (MilpLibrary library : milp_libraries()) {
            const Result<LeastPeak> found = least_peak_within(
                {graph, flat}, Nanoseconds(most_time), {.time = 1h}, {.library = library, .gap = 1e-6});
            ASSERT_TRUE(found) << found.error().message;
            ASSERT_TRUE(is_executable(flat, found->runs));
            const SequenceCost cost = cost_of(flat, found->runs);
            EXPECT_EQ(cost.peak, found->peak.value);
            EXPECT_EQ(cost.time, found->time.value);
            EXPECT_LE(cost.time, most_time);
            EXPECT_LE(found->bound.value, least) << "seed " << seed;
            EXPECT_LE(found->bound, found->peak);
            EXPECT_LE(found->any_order, found->bound);
            const auto below = brute_force(flat, found->any_order.value - 1);
            EXPECT_TRUE(!below || below->time > most_time) << "seed " << seed;
            EXPECT_EQ(found->status, Status::optimal) << to_string(library) << ", seed " << seed;
            EXPECT_LE(found->peak.value, least) << to_string(library) << ", seed " << seed;
            ++answers;
            optimal += found->bound.value == least;
            smaller += least < known.peak;
        }
    }
    const int libraries = static_cast<int>(milp_libraries().size());
    EXPECT_GE(answers, 120 * libraries);
    EXPECT_GE(optimal, 100 * libraries);
    EXPECT_GE(smaller, 30 * libraries);
}

/// Compares the bound on the peak with the integer program that minimizes the time, on larger graphs. If the
/// budget is one byte less than the bound, the least time must exceed the limit on the time.
TEST(LeastPeakWithin, AgreesWithTheProgrammeThatMinimizesTheTime) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 2)});
        const FlatGraph flat = flatten(graph);
        const std::int64_t most_time = flat.base_time * 12 / 10;
        for (MilpLibrary library : milp_libraries()) {
            const Result<LeastPeak> found =
                least_peak_within({graph, flat}, Nanoseconds(most_time), {.time = 1h}, {.library = library});
            ASSERT_TRUE(found) << found.error().message;
            EXPECT_EQ(found->status, Status::optimal) << seed;
            const StagedModel faster(flat, found->bound.value - 1);
            const Result<MilpAnswer> answer =
                solve_milp(library, faster.milp(), {.time = 1h, .relative_gap = 1e-7});
            ASSERT_TRUE(answer) << answer.error().message;
            ASSERT_NE(answer->status, MilpStatus::unknown);
            if (answer->status == MilpStatus::optimal) {
                EXPECT_GT(faster.time_of(answer->objective), double(most_time) + 0.5) << "seed " << seed;
            }
            ++compared;
        }
    }
    EXPECT_EQ(compared, 24 * static_cast<int>(milp_libraries().size()));
}

/// For these graphs, a bound from one moment at a time does not prove that the answer is optimal.
TEST(LeastPeakWithin, ProvesOverAnyOrderTooThatNothingBetterIsPossible) {
    for (const auto& [seed, forward_ops] : {std::pair{4, 4}, {1, 5}}) {
        const Graph graph =
            random_training_graph(static_cast<std::uint64_t>(seed), {.forward_ops = forward_ops});
        const FlatGraph flat = flatten(graph);
        for (MilpLibrary library : milp_libraries()) {
            const Nanoseconds most_time(flat.base_time * 12 / 10);
            const auto starting_at = [&](const RunSequence& start) {
                return least_peak_within({graph, flat}, most_time, {.time = 1h},
                                         {.library = library, .start = start});
            };
            // The proof is about the peak of the schedule from which the search starts, before the integer
            // program lowers the peak. If that schedule is poor, the proof can end early.
            const Result<LeastPeak> first = starting_at({});
            ASSERT_TRUE(first) << first.error().message;
            EXPECT_LE(first->any_order, first->peak) << "seed " << seed;
            const Result<LeastPeak> found = starting_at(first->runs);
            ASSERT_TRUE(found) << found.error().message;
            // For the proof, the first available library solves an integer program. GLPK does not finish it.
            if (milp_libraries().front() == MilpLibrary::highs) {
                EXPECT_EQ(found->any_order, found->peak) << "seed " << seed;
            }
        }
    }
}

/// The bound is found before any search. It must be exact to 1/500 of the bytes between the least memory and
/// the budget.
TEST(LeastPeakWithin, NothingIsPossibleAtBudgetsThatTheBoundByOneMomentRulesOut) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    for (const int layers : {10, 20, 40}) {
        const Graph graph = long_chain(ChainKind::uneven, layers);
        const FlatGraph flat = flatten(graph);
        const std::int64_t most_time = flat.base_time * 101 / 100;
        const Bytes once(cost_of(flat, required_once(flat)).peak);
        const Result<LeastPeak> found =
            least_peak_within({graph, flat}, Nanoseconds(most_time), {.time = 1h},
                              {.library = milp_libraries().front(), .budget = once, .first = true});
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->peak, once) << "the first that keeps the budget";
        const std::int64_t least = least_memory(flat, {.time = 1h}).bytes.value,
                           precision = (once.value - least) / 500;
        const auto least_time = [&](std::int64_t budget) {
            return overhead_lower_bound(flat, Bytes(budget), {.time = 1h}).overhead *
                   static_cast<double>(flat.base_time);
        };
        EXPECT_GT(found->any_order.value, least + precision);
        EXPECT_GT(least_time(found->any_order.value - 1), double(most_time));
        EXPECT_LE(least_time(found->any_order.value + precision), double(most_time) + 0.5);
    }
}

/// Atlas finds a schedule within the budget. Without `first`, the search would go on for days to improve this
/// schedule.
TEST(LeastPeakWithin, TheFirstScheduleThatKeepsTheBudgetEndsASearchOfDays) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    const Graph graph = random_chain(3, 310);
    const FlatGraph flat = flatten(graph);
    ASSERT_GT(required_once(flat).size(), 600u);
    const Bytes budget(cost_of(flat, required_once(flat)).peak / 16);
    const Answer known = make_rotor()->solve({graph, flat}, budget, {.time = 1h}, {});
    ASSERT_TRUE(std::holds_alternative<Solution>(known));
    const Result<LeastPeak> found =
        least_peak_within({graph, flat}, std::get<Solution>(known).time, {.time = std::chrono::hours(1000)},
                          {.library = milp_libraries().front(), .budget = budget, .first = true});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LE(found->peak, budget);
    EXPECT_LE(found->time, std::get<Solution>(known).time);
}

TEST(LeastPeakWithin, EndsAsSoonAsTheBudgetIsDecided) {
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 4});
        const FlatGraph flat = flatten(graph);
        const Nanoseconds most_time(flat.base_time * 13 / 10);
        for (MilpLibrary library : milp_libraries()) {
            const auto solve = [&](LeastPeakOptions options) {
                options.library = library;
                Result<LeastPeak> found = least_peak_within({graph, flat}, most_time, {.time = 1h}, options);
                EXPECT_TRUE(found) << found.error().message;
                return found.take();
            };
            const LeastPeak least = solve({});
            const LeastPeak kept = solve({.budget = least.peak, .first = true, .start = {1000, -1}});
            EXPECT_LE(kept.peak, least.peak) << "seed " << seed;
            const LeastPeak given = solve({.budget = least.peak, .first = true, .start = least.runs});
            EXPECT_EQ(given.peak, least.peak);
            EXPECT_EQ(given.nodes, 0);
            const LeastPeak none = solve({.budget = least.bound - Bytes(1)});
            if (none.peak >= least.bound) {
                EXPECT_GE(none.bound, least.bound) << "seed " << seed;
                EXPECT_LE(none.bound, none.peak) << "seed " << seed;
                ++refused;
            }  // otherwise the answer is a starting schedule that is not in the class
        }
    }
    EXPECT_GE(refused, 10 * static_cast<int>(milp_libraries().size()));
}

TEST(LeastPeakWithin, AStopReturnsTheBestSoFar) {
    if (milp_libraries().empty()) GTEST_SKIP() << "neither HiGHS nor GLPK";
    const Graph graph = random_training_graph(5, {.forward_ops = 60, .run_once = false});
    const FlatGraph flat = flatten(graph);
    std::stop_source stop;
    stop.request_stop();
    const Result<LeastPeak> found = least_peak_within({graph, flat}, Nanoseconds(flat.base_time * 2),
                                                      {.time = 10min, .stop = stop.get_token()});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(is_executable(flat, found->runs));
    EXPECT_EQ(cost_of(flat, found->runs).peak, found->peak.value);
}

TEST(LeastPeakWithin, RefusesTooShortATimeAndALibraryThatThisBuildLacks) {
    const Graph graph = random_training_graph(1, {.free_ops = false});
    const FlatGraph flat = flatten(graph);
    EXPECT_FALSE(least_peak_within({graph, flat}, Nanoseconds(1)));
    for (MilpLibrary library : {MilpLibrary::highs, MilpLibrary::glpk})
        EXPECT_EQ(
            bool(least_peak_within({graph, flat}, Nanoseconds(flat.base_time), {}, {.library = library})),
            bool(has_milp(library)));
}

}  // namespace
}  // namespace rematlas
