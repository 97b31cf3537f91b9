// Tests properties of OffMate. For each choice of what may be copied, the checker accepts its answers. With
// copies, no answer is worse than the answer of Rockmate, which makes no copies.
#include "core/solvers/offmate/offmate.h"

#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "tests/core/support/answers.h"
#include "tests/core/support/brute_force_with_host.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using std::chrono::hours;

constexpr Offload kAll[] = {Offload::activations, Offload::weights, Offload::all};

OffmateOptions brief() {
    return {.blocks = {.bottom = {.saved_limits = 2, .peak_limits = 2, .moves_an_op = 10, .least_moves = 100},
                       .level_saved_limits = 2,
                       .level_peak_limits = 2,
                       .level_moves = 100},
            .sequences = 2,
            .trials = 20,
            .programme = {.time = std::chrono::milliseconds(200)}};
}

void expect_right(const Problem& problem, Bytes budget, const Answer& answer, const std::string& what) {
    expect_valid(problem.graph, budget, answer, what);
    const auto* solution = std::get_if<Solution>(&answer);
    if (!solution) return;
    Schedule schedule;
    schedule.steps = solution->steps;
    schedule.homes = solution->homes;
    const Result<void> kept = keeps_to(problem.graph, problem.copies, schedule);
    EXPECT_TRUE(kept) << what << ": " << kept.error().message;
    if (!problem.copies.host_budget) return;
    const Result<Simulation> played =
        simulate(problem.graph, solution->steps, solution->homes, problem.copies.links);
    ASSERT_TRUE(played) << what;
    EXPECT_LE(played->host_peak, *problem.copies.host_budget) << what;
}

/// Returns `count` budgets, from small ones up to the peak of keep-all.
std::vector<Bytes> budgets(const FlatGraph& flat, int count) {
    const std::int64_t most = keep_all_peak(flat).value;
    std::vector<Bytes> list;
    for (int i = 1; i <= count; ++i) list.emplace_back(most * i / count);
    return list;
}

TEST(Offmate, AnswersAreRightWhateverMayBeCopied) {
    const auto solver = make_offmate(brief());
    int copying = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        const FlatGraph flat = flatten(graph);
        for (const Offload what : kAll) {
            for (const Bytes budget : budgets(flat, 6)) {
                Problem problem{graph, flat, {.what = what, .links = graph.device->links}};
                if (seed % 3 == 0) problem.copies.host_budget = Bytes(keep_all_peak(flat).value / 2);
                const Answer answer = solver->solve(problem, budget, {}, {});
                expect_right(problem, budget, answer,
                             named(graph, *solver, budget) + " " + std::string(to_string(what)));
                const auto* solution = std::get_if<Solution>(&answer);
                copying += solution && class_of(solution->steps) > ScheduleClass::any_order;
            }
        }
    }
    EXPECT_GT(copying, 48);
}

/// A resident that leaves the device at any time has its home on the host: see moves_in_training.
TEST(Offmate, KeepsToWhatMayMoveInTraining) {
    const auto solver = make_offmate(brief());
    int living_there = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Graph graph = random_graph_with_links(seed);
        for (Op& op : graph.ops) op.host_time.reset();
        const FlatGraph flat = flatten(graph);
        for (const Offload what : {Offload::weights, Offload::all}) {
            const Problem problem{
                graph, flat, {.what = what, .in_training = true, .links = graph.device->links}};
            for (const Bytes budget : budgets(flat, 8)) {
                const Answer answer = solver->solve(problem, budget, {}, {});
                expect_right(problem, budget, answer,
                             named(graph, *solver, budget) + " " + std::string(to_string(what)));
                const auto* solution = std::get_if<Solution>(&answer);
                living_there += solution && !solution->homes.on_host.empty();
            }
        }
    }
    EXPECT_GT(living_there, 80);
}

/// Returns the graph with these links, because the checker uses the links of the graph.
Graph linked(Graph graph, double bytes_per_second) {
    graph.device = Device{.name = "links",
                          .memory = {},
                          .links = {.to_host_bytes_per_second = bytes_per_second,
                                    .to_device_bytes_per_second = bytes_per_second}};
    return graph;
}

TEST(Offmate, IsNeverBetterThanExhaustiveSearchOnTinyChainsAndOftenAsGood) {
    OffmateOptions options = brief();
    options.programme.time = hours(1);  // the integer program ends by its gap, not by time
    const auto solver = make_offmate(options);
    int compared = 0, equal = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = linked(random_chain(seed, 3, seed % 2 == 0), 1e9);
        const FlatGraph flat = flatten(graph);
        const Problem problem{graph, flat, {.what = Offload::activations, .links = graph.device->links}};
        for (const Bytes budget : budgets(flat, 8)) {
            const auto least = brute_force_with_host(graph, budget.value);
            const Answer answer = solver->solve(problem, budget, {.time = hours(1)}, {});
            expect_right(problem, budget, answer, named(graph, *solver, budget));
            if (!least || !time_of(answer)) continue;
            ++compared;
            equal += *time_of(answer) == *least;
            EXPECT_GE(*time_of(answer), *least) << named(graph, *solver, budget);
        }
    }
    EXPECT_GT(compared, 40);
    EXPECT_GE(equal * 10, compared * 9) << equal << " of " << compared;
}

Graph small_gpt() {
    return gpt_graph({.layers = 6, .batch = 2, .sequence = 256, .width = 128, .heads = 4, .vocabulary = 512});
}

TEST(Offmate, IsNeverWorseThanRockmateWithoutCopies) {
    const Graph graph = linked(small_gpt(), 25e9);
    const FlatGraph flat = flatten(graph);
    OffmateOptions options;  // Rockmate's options keep their defaults
    options.trials = 50;
    options.sequences = 3;
    options.programme = {.time = hours(1), .gap = 0.1};
    const auto solver = make_offmate(options);
    int better = 0;
    for (const double share : {0.4, 0.5, 0.7, 0.9}) {
        const auto budget = static_cast<std::int64_t>(share * static_cast<double>(keep_all_peak(flat).value));
        const auto plain = time_of(*make_rockmate(), {graph, flat}, budget, hours(1));
        const auto copying =
            time_of(*solver, {graph, flat, {.what = Offload::activations, .links = graph.device->links}},
                    budget, hours(1));
        ASSERT_TRUE(copying) << share;
        EXPECT_LE(*copying, plain.value_or(*copying)) << share;
        better += plain && *copying < *plain;
        EXPECT_EQ(time_of(*solver, {graph, flat}, budget, hours(1)), plain) << "where nothing may be copied";
    }
    EXPECT_GE(better, 3);
}

TEST(Offmate, WorksWithBothLibraries) {
    const Graph graph = linked(small_gpt(), 25e9);
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat, {.what = Offload::activations, .links = graph.device->links}};
    const Bytes budget(keep_all_peak(flat).value / 2);
    for (const MilpLibrary library : milp_libraries()) {
        OffmateOptions options = brief();
        options.programme.library = library;
        const Answer answer = make_offmate(options)->solve(problem, budget, {}, {});
        expect_right(problem, budget, answer, std::string(to_string(library)));
        ASSERT_TRUE(time_of(answer)) << to_string(library);
    }
}

TEST(Offmate, TrainsWithATenthOfTheBytesWhereParametersAndStatesDoNotFit) {
    Graph graph = linked(gpt_graph({.layers = 12,
                                    .batch = 1,
                                    .sequence = 512,
                                    .width = 512,
                                    .heads = 8,
                                    .vocabulary = 1024,
                                    .adamw = true}),
                         200e9);
    for (const bool on_host : {false, true}) {
        for (Op& op : graph.ops)
            if (on_host && op.phase == Phase::optimizer) op.host_time = Nanoseconds(5 * op.time.value);
        const FlatGraph flat = flatten(graph);
        // With Offload::weights, activations stay on the device; they take more than a tenth of the peak.
        for (const auto& [what, parts] : {std::pair(Offload::all, 10), std::pair(Offload::weights, 5)}) {
            const Bytes budget(keep_all_peak(flat).value / parts);
            ASSERT_GT(flat.resident_bytes, 2 * budget.value);
            const Problem problem{graph, flat, {.what = what, .links = graph.device->links}};
            // Only the integer program finds a schedule that fits. The library ends at the first solution
            // that costs at most twice the proven bound.
            OffmateOptions options = brief();
            options.programme = {.time = hours(1), .gap = 1};
            const auto solver = make_offmate(options);
            const Answer answer = solver->solve(problem, budget, {.time = hours(1)}, {});
            expect_right(problem, budget, answer, std::string(to_string(what)));
            ASSERT_TRUE(time_of(answer)) << to_string(what) << " " << on_host;
            const auto& steps = std::get<Solution>(answer).steps;
            if (!on_host) {
                EXPECT_EQ(class_of(steps), ScheduleClass::with_copies);
            }
        }
    }
}

TEST(Offmate, StopsWithWhatItHas) {
    const Graph graph = linked(small_gpt(), 25e9);
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat, {.what = Offload::activations, .links = graph.device->links}};
    const Bytes budget(keep_all_peak(flat).value / 2);
    std::stop_source stop;
    stop.request_stop();
    const Answer answer = make_offmate()->solve(problem, budget, {.stop = stop.get_token()}, {});
    expect_right(problem, budget, answer, "stopped");
    EXPECT_TRUE(time_of(answer));
    int reports = 0;
    make_offmate(brief())->solve(problem, budget, {}, [&](const ProgressReport& report) {
        ++reports;
        EXPECT_LE(report.peak, budget);
    });
    EXPECT_GT(reports, 1);
}

TEST(Offmate, KeepsBudgetsOfProblemFiles) {
    std::vector<ProblemFile> files = read_problem_files();
    if (files.empty()) GTEST_SKIP() << kNoProblemFiles;
    const auto solver = make_offmate(brief());
    int answered = 0;
    for (ProblemFile& file : files) {
        const Graph graph = linked(std::move(file.graph), 25e9);
        const FlatGraph flat = flatten(graph);
        if (flat.op_count > 700) continue;
        const Problem problem{graph, flat, {.what = Offload::activations, .links = graph.device->links}};
        for (const double share : {0.3, 0.6}) {
            const Bytes budget(
                static_cast<std::int64_t>(share * static_cast<double>(keep_all_peak(flat).value)));
            const Answer answer = solver->solve(problem, budget, {.time = std::chrono::seconds(10)}, {});
            expect_right(problem, budget, answer, named(graph, *solver, budget));
            answered += time_of(answer).has_value();
        }
    }
    EXPECT_GT(answered, 5);
}

}  // namespace
}  // namespace rematlas
