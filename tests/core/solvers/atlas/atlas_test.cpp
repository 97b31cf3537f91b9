// Tests properties of every answer of the atlas solver.
#include "core/solvers/atlas/atlas.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/bounds/least_memory.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/annealing/portfolio.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solving/answers.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

using std::chrono::hours;

Answer solve(const Graph& graph, Bytes budget, const AnnealingOptions& options, const Progress& progress = {},
             const Limits& limits = {.time = hours(1)}) {
    const FlatGraph flat = flatten(graph);
    return make_atlas(options)->solve({graph, flat}, budget, limits, progress);
}

void expect_valid(const Graph& graph, Bytes budget, const Solution& solution) {
    Schedule schedule;
    schedule.steps = solution.steps;
    schedule.graph_sha256 = graph.sha256;
    const CheckReport report = check(graph, schedule, budget);
    EXPECT_TRUE(report.ok()) << (report.violations.empty() ? "" : report.violations.front());
    EXPECT_EQ(report.time, solution.time);
    EXPECT_EQ(report.peak, solution.peak);
    EXPECT_DOUBLE_EQ(report.overhead, solution.overhead);
    if (solution.bound) {
        EXPECT_LE(solution.bound->overhead, solution.overhead * (1 + 1e-9));
    }
}

std::int64_t peak_without_reruns(const FlatGraph& flat) {
    return cost_of(flat, required_once(flat)).peak;
}

/// Returns budgets from one byte below the least possible up to the peak without reruns.
std::vector<std::int64_t> budgets(std::int64_t least, std::int64_t most) {
    return {least - 1, least, least + (most - least) / 3, least + (most - least) * 2 / 3, most};
}

/// Counts how often the answer was the optimum, over graphs and budgets.
struct Tally {
    int optimal = 0, missed = 0;
};

void compare_with_optimum(const Graph& graph, Tally& tally) {
    const FlatGraph flat = flatten(graph);
    for (const std::int64_t budget : budgets(brute_force_least_peak(flat), peak_without_reruns(flat))) {
        SCOPED_TRACE(budget);
        const std::optional<Optimum> optimum = brute_force(flat, budget);
        const Answer answer = solve(graph, Bytes(budget), {.max_moves = 10'000, .first_cycle = 2000});
        const Solution* solution = std::get_if<Solution>(&answer);
        ASSERT_FALSE(solution && !optimum);
        if (!optimum) {
            EXPECT_GT(*std::get<Infeasible>(answer).smallest_found, Bytes(budget));
        }
        if (solution) {
            expect_valid(graph, Bytes(budget), *solution);
            EXPECT_GE(solution->time.value, optimum->time);
            if (solution->bound) {
                EXPECT_LE(solution->bound->overhead * static_cast<double>(flat.base_time),
                          static_cast<double>(optimum->time) + 1e-6);
            }
        }
        const bool equal = solution ? solution->time.value == optimum->time : !optimum;
        ++(equal ? tally.optimal : tally.missed);
    }
}

TEST(Atlas, FindsTheOptimumOfSmallTrainingGraphs) {
    Tally tally;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE(seed);
        compare_with_optimum(random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 2)}),
                             tally);
    }
    EXPECT_LE(tally.missed, tally.optimal / 100);
}

TEST(Atlas, FindsTheOptimumOfSmallOddGraphs) {
    Tally tally;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE(seed);
        compare_with_optimum(random_odd_graph(seed, 2 + static_cast<int>(seed % 9)), tally);
    }
    EXPECT_LE(tally.missed, tally.optimal / 50);
}

TEST(Atlas, WritesOverWhatIsMadeAgain) {
    const Answer answer = solve(graph_of_two_pairs(), Bytes(30), {.max_moves = 1000, .first_cycle = 200});
    const Solution* solution = std::get_if<Solution>(&answer);
    ASSERT_TRUE(solution);
    EXPECT_EQ(solution->time, Nanoseconds(25));
}

TEST(Atlas, FindsTheOptimumOfShortChains) {
    Tally tally;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        compare_with_optimum(random_chain(seed, 2 + static_cast<int>(seed % 4)), tally);
    }
    EXPECT_EQ(tally.missed, 0);
}

TEST(Atlas, StaysWithinTheBudgetOnLargerRandomGraphs) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const Graph graph = random_training_graph(seed, {.forward_ops = 30});
        const FlatGraph flat = flatten(graph);
        for (const std::int64_t budget :
             budgets(least_peak(flat).bytes.value + 1, peak_without_reruns(flat))) {
            const Answer answer =
                solve(graph, Bytes(budget), {.max_moves = 5000}, {}, {.time = std::chrono::hours(1)});
            if (const auto* solution = std::get_if<Solution>(&answer)) {
                expect_valid(graph, Bytes(budget), *solution);
                ++found;
            } else {
                EXPECT_GT(*std::get<Infeasible>(answer).smallest_found, Bytes(budget));
            }
        }
    }
    EXPECT_GT(found, 12);
}

TEST(Atlas, TellsTheTimeThatItsBoundTook) {
    const Graph graph = random_training_graph(4, {.forward_ops = 20});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((least_peak(flat).bytes.value + 3 * peak_without_reruns(flat)) / 4);
    const Answer answer = solve(graph, budget, {.max_moves = 5000});
    const Solution& solution = std::get<Solution>(answer);
    ASSERT_TRUE(solution.bound);
    EXPECT_GT(solution.overhead, 1);
    EXPECT_GT(solution.bound->seconds, 0);
}

TEST(Atlas, IsOptimalAtOnceWhereNothingNeedsToRunAgain) {
    const Graph graph = random_training_graph(4, {.forward_ops = 20});
    const FlatGraph flat = flatten(graph);
    const Answer answer = solve(graph, Bytes(peak_without_reruns(flat)), {});
    const Solution& solution = std::get<Solution>(answer);
    EXPECT_EQ(solution.status, Status::optimal);
    ASSERT_TRUE(solution.bound);
    EXPECT_EQ(solution.bound->overhead, solution.overhead);
    EXPECT_EQ(solution.bound->over, ScheduleClass::any_order);
    expect_valid(graph, Bytes(peak_without_reruns(flat)), solution);
}

TEST(Atlas, SaysHowMuchAnImpossibleBudgetLacks) {
    const Graph graph = random_training_graph(4, {.forward_ops = 8});
    const FlatGraph flat = flatten(graph);
    const PeakBound least = least_peak(flat);
    const Answer answer =
        solve(graph, least.bytes - Bytes(1), {}, {}, {.time = std::chrono::milliseconds(200)});
    const Infeasible& infeasible = std::get<Infeasible>(answer);
    EXPECT_TRUE(infeasible.proven);
    EXPECT_EQ(infeasible.needed, least.bytes);
    ASSERT_TRUE(infeasible.smallest_found);
    EXPECT_GE(*infeasible.smallest_found, least.bytes);
}

TEST(Atlas, GivesEqualAnswersForEqualSeedsAndMoves) {
    const Graph graph = random_training_graph(9, {.forward_ops = 40});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((least_peak(flat).bytes.value + peak_without_reruns(flat)) / 2);
    const AnnealingOptions options{.max_moves = 20'000, .first_cycle = 3000};
    const Answer first = solve(graph, budget, options);
    const Answer second = solve(graph, budget, options);
    ASSERT_TRUE(std::holds_alternative<Solution>(first));
    EXPECT_EQ(std::get<Solution>(first).steps, std::get<Solution>(second).steps);
}

TEST(Atlas, GivesEqualAnswersForEqualThreads) {
    const Graph graph = random_training_graph(21, {.forward_ops = 30});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((2 * least_peak(flat).bytes.value + peak_without_reruns(flat)) / 3);
    const AnnealingOptions options{.max_moves = 8000, .first_cycle = 2000};
    const Limits limits{.time = hours(1), .threads = 3};
    const Answer first = solve(graph, budget, options, {}, limits);
    const Answer second = solve(graph, budget, options, {}, limits);
    ASSERT_TRUE(std::holds_alternative<Solution>(first));
    expect_valid(graph, budget, std::get<Solution>(first));
    EXPECT_EQ(std::get<Solution>(first).steps, std::get<Solution>(second).steps);
    // Several annealers must not be worse than the first annealer alone.
    const Answer alone = solve(graph, budget, options);
    EXPECT_LE(std::get<Solution>(first).time, std::get<Solution>(alone).time);
}

TEST(Atlas, ReportsSchedulesThatOnlyGetBetter) {
    const Graph graph = random_training_graph(10, {.forward_ops = 40});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((least_peak(flat).bytes.value * 2 + peak_without_reruns(flat)) / 3);
    std::vector<ProgressReport> seen;
    const Answer answer = solve(graph, budget, {.max_moves = 30'000},
                                [&](const ProgressReport& incumbent) { seen.push_back(incumbent); });
    ASSERT_FALSE(seen.empty());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_LE(seen[i].peak, budget);
        if (i > 0) {
            EXPECT_LE(seen[i].overhead, seen[i - 1].overhead);
        }
    }
    EXPECT_EQ(seen.back().overhead, std::get<Solution>(answer).overhead);
}

TEST(Atlas, ReturnsItsBestWhenStopped) {
    const Graph graph = random_training_graph(11, {.forward_ops = 60});
    const FlatGraph flat = flatten(graph);
    const Bytes budget((least_peak(flat).bytes.value + peak_without_reruns(flat)) / 2);
    std::stop_source source;
    double seen = 0;
    const auto stop_at_first = [&](const ProgressReport& incumbent) {
        seen = incumbent.overhead;
        source.request_stop();
    };
    // If the stop did not work, the search would take an hour.
    const Answer answer =
        solve(graph, budget, {}, stop_at_first, {.time = hours(1), .stop = source.get_token()});
    EXPECT_LE(std::get<Solution>(answer).overhead, seen);
    expect_valid(graph, budget, std::get<Solution>(answer));
}

TEST(Annealer, StopsWithinFewMovesOfBeingAsked) {
    const Graph graph = gpt_graph({.layers = 12});
    const FlatGraph flat = flatten(graph);
    const std::int64_t budget = (least_peak(flat).bytes.value + peak_without_reruns(flat)) / 2;
    std::stop_source source;
    const Deadline deadline({.time = hours(1), .stop = source.get_token()});
    const AnnealingOptions options;
    annealing::Annealer annealer(flat, budget, Candidate::of(flat, required_once(flat)), options, 1);
    std::uint64_t asked_at = 0;
    const auto ask_late = [&](const Candidate&) {
        if (annealer.moves() >= 5000 && asked_at == 0) {
            asked_at = annealer.moves();
            source.request_stop();
        }
        return true;
    };
    EXPECT_FALSE(annealer.run_cycle(1'000'000, 1, deadline, ask_late));
    ASSERT_GT(asked_at, 0u);
    // A move takes between one and some tens of microseconds, so 100 moves take a few milliseconds at most.
    EXPECT_LE(annealer.moves() - asked_at, 100u);
}

/// The step without reruns is already optimal, so no better schedule is ever found. The caller must still get
/// reports, by which it can stop the search.
TEST(Annealer, ReportsNowAndThenAlsoWithoutNewsAndStopsWhenTold) {
    const FlatGraph flat = flatten(random_training_graph(1, {.forward_ops = 10}));
    const AnnealingOptions options;
    annealing::Annealer annealer(flat, peak_without_reruns(flat), Candidate::of(flat, required_once(flat)),
                                 options, 1);
    int reports = 0;
    const auto stop_at_third = [&](const Candidate&) { return ++reports < 3; };
    EXPECT_FALSE(annealer.run_cycle(100'000, 1, Deadline({.time = hours(1)}), stop_at_third));
    EXPECT_EQ(reports, 3);
    EXPECT_LT(annealer.moves(), 50'000u);
}

TEST(Annealer, FindsWhatFitsAlsoWhereNoOpTakesTime) {
    const AnnealingOptions options;
    int over = 0, fits = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 3, .run_once = false}));
        std::fill(flat.time.begin(), flat.time.end(), 0);
        flat.base_time = 0;
        const std::int64_t budget = brute_force_least_peak(flat);
        const Candidate start = Candidate::of(flat, required_once(flat));
        if (start.peak <= budget) continue;
        ++over;
        annealing::Annealer annealer(flat, budget, start, options, seed);
        annealer.run_cycle(5000, 1, Deadline({.time = hours(1)}), [](const Candidate&) { return true; });
        fits += annealer.best().peak <= budget;
    }
    EXPECT_GT(over, 10);
    EXPECT_GE(fits, over * 9 / 10);
}

TEST(Atlas, KeepsTheSmallestBudgetThatIsKnown) {
    const Graph graph = gpt_graph({.layers = 6});
    const FlatGraph flat = flatten(graph);
    const SmallestBudget smallest = smallest_feasible(flat, {.time = hours(1)});
    const Answer answer = solve(graph, smallest.peak, {.max_moves = 20'000});
    ASSERT_TRUE(std::holds_alternative<Solution>(answer));
    expect_valid(graph, smallest.peak, std::get<Solution>(answer));
}

TEST(Atlas, AnswersWithoutAnyTime) {
    const Graph graph = random_training_graph(12, {.forward_ops = 10});
    const FlatGraph flat = flatten(graph);
    const Bytes budget(least_peak(flat).bytes);
    const Answer answer = solve(graph, budget, {}, {}, {.time = hours(0)});
    if (const auto* infeasible = std::get_if<Infeasible>(&answer)) {
        EXPECT_FALSE(infeasible->proven);
        EXPECT_GT(*infeasible->smallest_found, budget);
    } else {
        expect_valid(graph, budget, std::get<Solution>(answer));
    }
}

TEST(Atlas, PlansLargeTransformers) {
    const Graph graph = gpt_graph({.layers = 24});
    ASSERT_TRUE(validate(graph));
    const FlatGraph flat = flatten(graph);
    const std::int64_t least = least_peak(flat).bytes.value, most = peak_without_reruns(flat);
    const Bytes budget(least + (most - least) / 5);
    const Answer answer = solve(graph, budget, {.max_moves = 20'000});
    ASSERT_TRUE(std::holds_alternative<Solution>(answer));
    expect_valid(graph, budget, std::get<Solution>(answer));
    EXPECT_LT(std::get<Solution>(answer).overhead, 1.25);
}

TEST(Atlas, EndsAtTheGapAskedForAndSaysOptimalWithoutOneOnly) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        const Graph graph = random_training_graph(seed, {.forward_ops = 30, .run_once = false});
        const FlatGraph flat = flatten(graph);
        const Bytes budget((least_peak(flat).bytes.value + peak_without_reruns(flat)) / 2);
        for (const double gap : {0.5, 0.05}) {
            // If the gap did not work, the search could take an hour.
            const Answer answer = solve(graph, budget, {}, {}, {.time = hours(1), .gap = gap});
            ASSERT_TRUE(std::holds_alternative<Solution>(answer));
            const Solution& solution = std::get<Solution>(answer);
            expect_valid(graph, budget, solution);
            ASSERT_TRUE(solution.bound);
            EXPECT_LE(solution.bound->gap, gap * (1 + 1e-9));
            EXPECT_EQ(solution.status == Status::optimal, solution.bound->gap <= 1e-9);
        }
    }
}

TEST(Portfolio, EndsByItselfWhereNothingBetterComesEquallyEachTime) {
    const Graph graph = random_training_graph(5, {.forward_ops = 4, .run_once = false});
    const FlatGraph flat = flatten(graph);
    const std::int64_t budget = (least_peak(flat).bytes.value + peak_without_reruns(flat)) / 2;
    const Deadline deadline({.time = hours(1)});
    const AnnealingOptions options{.first_cycle = 200};
    const auto search = [&] {
        return annealing::anneal_portfolio(flat, Candidate::of(flat, required_once(flat)),
                                           {.budget = budget, .trials = 3}, options, deadline);
    };
    const annealing::PortfolioResult first = search(), second = search();
    EXPECT_EQ(first.best.runs, second.best.runs);
    EXPECT_EQ(first.moves, second.moves);
    const std::optional<Optimum> optimum = brute_force(flat, budget);
    ASSERT_TRUE(optimum);
    EXPECT_EQ(first.best.time, optimum->time);
}

/// Returns a graph with branches of large tensors. Each branch ends in a small tensor, which the last op
/// reads. The initial order takes one op of each branch in turn.
Graph side_by_side(int branches, int length) {
    Graph graph;
    std::vector<TensorId> last(static_cast<std::size_t>(branches));
    const auto add = [&](std::vector<TensorId> inputs, int bytes) {
        Op op;
        op.time = Nanoseconds(1);
        op.recomputable = false;
        op.inputs = std::move(inputs);
        op.outputs = {graph.tensors.push_back({"t", Bytes(bytes)})};
        return graph.ops[graph.ops.push_back(op)].outputs.front();
    };
    for (int stage = 0; stage < length; ++stage)
        for (TensorId& end : last)
            end = add(stage == 0 ? std::vector<TensorId>{} : std::vector{end}, stage + 1 < length ? 100 : 1);
    graph.results = {add(last, 1)};
    return graph;
}

/// Good orders finish at least some of the branches one after the other.
TEST(Portfolio, CyclesFromOtherOrdersSoonFindWhatIsFarFromTheFirstOne) {
    const FlatGraph flat = flatten(side_by_side(10, 6));
    const Candidate start = Candidate::of(flat, required_once(flat));
    ASSERT_GE(start.peak, 1000);
    const AnnealingOptions options{.max_moves = 800, .first_cycle = 100};
    std::int64_t peaks = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const annealing::PortfolioResult found = annealing::anneal_portfolio(
            flat, start, {.budget = 210, .seed = seed}, options, Deadline({.time = hours(1)}));
        EXPECT_TRUE(is_executable(flat, found.best.runs));
        peaks += found.best.peak;
    }
    EXPECT_LT(peaks / 40, start.peak * 7 / 10) << "more from the first order alone";
}

TEST(Atlas, LeavesTheSchedulesThatWereLowestForBetterOnes) {
    const Result<Graph> graph = read_graph(problem_folder() / "irr500.graph.json");
    if (!graph) GTEST_SKIP() << kNoProblemFiles;
    const Bytes budget(29'674'700);
    // If annealing started only from the first schedule within this budget, the overhead would be above 1.25.
    const Answer answer = solve(*graph, budget, {.max_moves = 400'000});
    ASSERT_TRUE(std::holds_alternative<Solution>(answer));
    expect_valid(*graph, budget, std::get<Solution>(answer));
    EXPECT_LT(std::get<Solution>(answer).overhead, 1.22);
}

TEST(Atlas, ComesNearTheBestKnownOverheads) {
    const std::vector<ProblemFile> files = read_problem_files();
    if (files.empty()) GTEST_SKIP() << kNoProblemFiles;
    for (const ProblemFile& file : files) {
        for (const ProblemFile::Reference& reference : file.references) {
            if (reference.fraction > 0.1) continue;
            SCOPED_TRACE(file.graph.name + " at " + std::to_string(reference.fraction));
            const Answer answer =
                solve(file.graph, reference.budget, {.max_moves = 40'000, .first_cycle = 10'000});
            ASSERT_TRUE(std::holds_alternative<Solution>(answer));
            const Solution& solution = std::get<Solution>(answer);
            expect_valid(file.graph, reference.budget, solution);
            EXPECT_LE(solution.overhead, reference.best_known * 1.03);
            EXPECT_GE(solution.overhead, reference.lower_bound * (1 - 1e-6));
        }
    }
}

TEST(SmallestBudget, IsTheLeastPeakOfSmallGraphs) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph flat =
            flatten(random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 2)}));
        const std::int64_t least = brute_force_least_peak(flat);
        const SmallestBudget found = smallest_feasible(flat, {.time = hours(1)});
        ASSERT_TRUE(is_executable(flat, found.runs));
        EXPECT_EQ(cost_of(flat, found.runs).peak, found.peak.value);
        EXPECT_EQ(found.peak.value, least);
        EXPECT_EQ(found.proven, least == least_memory(flat).bytes.value);
    }
}

TEST(SmallestBudget, IsOneThatTheSolverCanKeep) {
    const Graph graph = random_training_graph(31, {.forward_ops = 6});
    const FlatGraph flat = flatten(graph);
    std::stop_source stopped;
    stopped.request_stop();
    for (const Limits& limits : {Limits{.time = hours(1)}, Limits{.time = hours(0)},
                                 Limits{.time = hours(1), .stop = stopped.get_token()}}) {
        const SmallestBudget found = smallest_feasible(flat, limits);
        ASSERT_TRUE(is_executable(flat, found.runs));
        EXPECT_EQ(cost_of(flat, found.runs).peak, found.peak.value);
        EXPECT_LE(found.peak.value, peak_without_reruns(flat));
    }
    const SmallestBudget found = smallest_feasible(flat, {.time = hours(1)});
    const Answer answer = solve(graph, found.peak, {.max_moves = 200'000});
    ASSERT_TRUE(std::holds_alternative<Solution>(answer));
    expect_valid(graph, found.peak, std::get<Solution>(answer));
}

TEST(GreedyStart, IsExecutableUnderEveryRule) {
    int made = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 20}));
        const std::int64_t budget = (least_peak(flat).bytes.value + peak_without_reruns(flat)) / 2;
        const Deadline deadline({.time = hours(1)});
        using enum annealing::GreedyRule::Distance;
        for (const auto distance : {ignored, square_root, linear}) {
            for (const bool with_ancestors : {false, true}) {
                const auto runs = annealing::greedy_start(flat, budget, {distance, with_ancestors}, deadline);
                if (!runs) continue;
                ASSERT_TRUE(is_executable(flat, *runs));
                ++made;
            }
        }
    }
    EXPECT_GT(made, 200);
}

TEST(GreedyStart, MostlyFitsTheBudgetWhenAllOpsMayRunAgain) {
    int fits = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 20, .run_once = false}));
        const std::int64_t budget = (least_peak(flat).bytes.value + 5 * peak_without_reruns(flat)) / 6;
        const Deadline deadline({.time = hours(1)});
        const auto best = annealing::best_start(flat, budget, Candidate::of(flat, required_once(flat)),
                                                deadline, 1, [](const auto&) {});
        fits += best.peak <= budget;
        EXPECT_EQ(cost_of(flat, best.runs).peak, best.peak);
    }
    EXPECT_GE(fits, 36);
}

TEST(AnnealingOptions, AreReadFromJson) {
    const nlohmann::json json = {{"seed", 7},         {"max_moves", 1000},        {"first_cycle", 500},
                                 {"cycle_growth", 2}, {"start_temperature", 0.5}, {"end_temperature", 0.1}};
    const Result<AnnealingOptions> options = options_from<AnnealingOptions>("atlas", &json);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->seed, 7u);
    EXPECT_EQ(options->max_moves, 1000u);
    EXPECT_EQ(options->first_cycle, 500);
    EXPECT_EQ(options->cycle_growth, 2);
    EXPECT_EQ(options->start_temperature, 0.5);
    EXPECT_EQ(options->end_temperature, 0.1);
    EXPECT_TRUE(options_from<AnnealingOptions>("atlas", nullptr));
}

TEST(AnnealingOptions, NameTheKeyThatIsWrong) {
    const std::vector<std::pair<nlohmann::json, std::string>> wrong = {
        {{{"sed", 1}}, "sed"},
        {{{"seed", -1}}, "seed"},
        {{{"max_moves", "many"}}, "max_moves"},
        {{{"first_cycle", 0}}, "first_cycle"},
        {{{"cycle_growth", 0.5}}, "cycle_growth"},
        {{{"start_temperature", 0}}, "start_temperature"},
        {{{"start_temperature", 0.1}, {"end_temperature", 0.2}}, "end_temperature"},
    };
    for (const auto& [json, key] : wrong) {
        const Result<AnnealingOptions> options = options_from<AnnealingOptions>("atlas", &json);
        ASSERT_FALSE(options) << json.dump();
        EXPECT_NE(options.error().message.find("'" + key + "'"), std::string::npos)
            << options.error().message;
    }
}

TEST(SmallestBudget, GoesLowerByBlocksOfASequence) {
    const std::filesystem::path file = problem_folder() / "gpt12b64.graph.json";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << kNoProblemFiles;
    const Graph graph = *read_graph(file);
    const FlatGraph flat = flatten(graph);
    // Annealing that moves only single runs needs minutes to reach 817 MiB.
    const Bytes enough(std::int64_t{806} << 20);
    const SmallestBudget found = smallest_feasible(Problem{graph, flat}, {.time = hours(1)}, enough);
    ASSERT_TRUE(is_executable(flat, found.runs));
    EXPECT_EQ(cost_of(flat, found.runs).peak, found.peak.value);
    EXPECT_LE(found.peak, enough);
}

}  // namespace
}  // namespace rematlas
