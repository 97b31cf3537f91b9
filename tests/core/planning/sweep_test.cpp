#include "core/planning/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "core/base/files.h"
#include "core/bounds/one_moment.h"
#include "core/checking/check.h"
#include "core/milp/milp.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

SweepOptions quick(std::vector<std::string> solvers) {
    SweepOptions options{.solvers = std::move(solvers), .budgets = {}, .count = 6, .limits = {}};
    options.limits.time = 1s;
    return options;
}

TEST(Sweep, the_schedule_of_each_point_passes_the_check) {
    const Graph graph = random_training_graph(3, {.forward_ops = 12});
    const FlatGraph flat = flatten(graph);
    const Result<Sweep> sweep = run_sweep(graph, quick({"dtr", "chen-greedy"}));
    ASSERT_TRUE(sweep) << sweep.error().message;
    for (const SweepCurve& curve : sweep->curves)
        for (const SweepPoint& point : curve.points) {
            if (point.status == "infeasible") continue;
            const Schedule schedule = schedule_of({graph, flat, curve.copies}, curve.solver, point);
            const CheckReport report = check(graph, schedule);
            EXPECT_TRUE(report.ok()) << report.violations.front();
            EXPECT_EQ(schedule.budget, point.budget);
            EXPECT_EQ(report.peak, point.peak);
        }
}

TEST(Sweep, is_monotone_checked_and_ends_at_the_peak_without_recomputation) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 8});
        const FlatGraph flat = flatten(graph);
        const Result<Sweep> sweep = run_sweep(graph, quick({"atlas", "dtr", "keep-all"}));
        ASSERT_TRUE(sweep) << sweep.error().message;
        for (const SweepCurve& curve : sweep->curves) {
            ASSERT_FALSE(curve.points.empty());
            if (curve.solver == "atlas") {
                const SweepPoint& front = curve.points.front();
                EXPECT_TRUE(front.status != "infeasible" || front.budget == least_peak(flat).bytes)
                    << "that works or is where all budgets begin";
            }
            EXPECT_EQ(curve.points.back().budget, keep_all_peak(flat));
            EXPECT_NE(curve.points.back().status, "infeasible");
            double last = INFINITY;
            for (const SweepPoint& point : curve.points) {
                if (point.status == "infeasible") continue;
                EXPECT_LE(point.peak, point.budget);
                EXPECT_LE(point.overhead, last);
                last = point.overhead;
                Schedule schedule;
                schedule.steps = point.steps;
                EXPECT_TRUE(check(graph, schedule, point.budget).ok());
            }
        }
    }
}

TEST(Sweep, with_a_table_for_all_budgets_takes_no_more_time_at_any_than_a_solve_of_its_own) {
    int in_arenas = 0, compared = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        for (const bool arena : {false, true}) {
            Graph graph = random_chain(seed, 12);
            for (Tensor& tensor : graph.tensors) tensor.bytes.value *= 64;  // then alignment adds no bytes
            for (Op& op : graph.ops) op.workspace.value *= 64;
            SweepOptions options = quick({"rotor"});
            options.count = 12;
            options.limits.time = 1h;
            options.arena = arena;
            const Result<Sweep> sweep = run_sweep(graph, options);
            ASSERT_TRUE(sweep) << sweep.error().message;
            EXPECT_EQ(sweep->curves.front().solver, "rotor");
            for (const SweepPoint& point : sweep->curves.front().points) {
                if (arena) {
                    if (point.status == "infeasible") continue;
                    ++in_arenas;
                    ASSERT_TRUE(point.arena);
                    EXPECT_LE(*point.arena, point.budget);
                    continue;
                }
                const Result<Outcome> alone =
                    solve(graph, {.solver = "rotor", .budget = point.budget, .limits = {.time = 1h}});
                ASSERT_TRUE(alone) << alone.error().message;
                if (!alone->schedule()) continue;
                ++compared;
                ASSERT_NE(point.status, "infeasible");
                EXPECT_LE(point.overhead, alone->schedule()->overhead);
            }
        }
    }
    EXPECT_GT(in_arenas, 8);
    EXPECT_GT(compared, 24);
}

/// Returns the sum of the areas of all pieces between a curve and its bound.
double curve_area(std::span<const CurveSample> samples) {
    double area = 0;
    for (const CurvePiece& piece : curve_pieces(samples)) area += piece.area();
    return area;
}

/// Returns the area that a sweep leaves unknown between the curve and its bound.
double area_with(const Graph& graph, const std::string& solver, Spacing spacing, int count) {
    SweepOptions options{
        .solvers = {solver}, .budgets = {}, .count = count, .spacing = spacing, .limits = {}};
    options.limits.time = 60s;
    const Result<Sweep> sweep = run_sweep(graph, options);
    EXPECT_TRUE(sweep);
    if (!sweep) return 0;
    const SweepCurve& curve = sweep->curves.front();
    EXPECT_EQ(curve.points.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(curve.points.back().budget, keep_all_peak(flatten(graph)));
    std::vector<CurveSample> samples = curve_samples(curve);
    for (std::size_t i = 0; i + 1 < samples.size(); ++i) EXPECT_LT(samples[i].budget, samples[i + 1].budget);
    return curve_area(samples);
}

TEST(Sweep, leaves_less_unknown_of_a_curve_by_placing_budgets_where_it_bends_than_by_even_ones) {
    for (const int count : {8, 16}) {
        const Graph graph = long_chain(ChainKind::equal, 24);
        EXPECT_LT(area_with(graph, "rotor", Spacing::curve, count),
                  area_with(graph, "rotor", Spacing::even, count))
            << count;
    }
}

/// For most files, though not for all, the area between the curve and its bound is smaller than with evenly
/// spaced budgets. If few tensors are large, the curve has few steps, and most of the area is a gap that the
/// search left at every budget.
TEST(Sweep, leaves_less_unknown_of_the_curves_of_problem_files_than_even_budgets_do) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    int smaller = 0, compared = 0;
    for (const ProblemFile& problem : problems) {
        if (problem.graph.ops.size() > 120) continue;
        const double curve = area_with(problem.graph, "rotor", Spacing::curve, 12),
                     even = area_with(problem.graph, "rotor", Spacing::even, 12);
        EXPECT_LT(curve, 1.02 * even) << problem.graph.name;
        smaller += curve < even;
        ++compared;
    }
    EXPECT_GT(compared, 3);
    EXPECT_GT(smaller, compared * 2 / 3);
}

TEST(Sweep, holds_both_ends_and_as_many_budgets_as_asked_for) {
    const Graph graph = random_chain(3, 12);
    for (const Spacing spacing : {Spacing::even, Spacing::curve}) {
        for (const int count : {1, 2, 3, 9}) {
            SweepOptions options{.solvers = {"rotor", "keep-all"},
                                 .budgets = {},
                                 .count = count,
                                 .spacing = spacing,
                                 .limits = {}};
            options.limits.time = 60s;
            const Result<Sweep> sweep = run_sweep(graph, options), again = run_sweep(graph, options);
            ASSERT_TRUE(sweep && again);
            for (std::size_t i = 0; i < sweep->curves.size(); ++i) {
                const auto& points = sweep->curves[i].points;
                ASSERT_EQ(points.size(), static_cast<std::size_t>(count));
                EXPECT_EQ(points.back().budget, keep_all_peak(flatten(graph)));
                for (std::size_t k = 0; k < points.size(); ++k) {
                    EXPECT_EQ(points[k].budget, again->curves[i].points[k].budget);
                    EXPECT_EQ(points[k].overhead, again->curves[i].points[k].overhead);
                    if (k > 0) {
                        EXPECT_LT(points[k - 1].budget, points[k].budget);
                    }
                }
            }
        }
    }
}

TEST(Sweep, looks_below_the_peak_also_where_no_smaller_budget_was_found_in_its_time) {
    const Graph graph = long_chain(ChainKind::uneven, 40);
    SweepOptions options = quick({"keep-all"});
    options.limits.time = 0s;
    const FlatGraph flat = flatten(graph);
    const Result<Sweep> sweep = run_sweep(graph, options);
    ASSERT_TRUE(sweep);
    ASSERT_GE(sweep->curves.front().points.size(), 2u);
    EXPECT_LT(sweep->curves.front().points.front().budget, keep_all_peak(flat));
    EXPECT_GE(sweep->curves.front().points.front().budget, least_peak(flat).bytes);
}

TEST(Sweep, keeps_the_budgets_that_it_is_asked_for) {
    const Graph graph = random_chain(3, 12);
    const Bytes most = keep_all_peak(flatten(graph));
    SweepOptions options = quick({"rotor"});
    options.budgets = {most, most - Bytes(5), most - Bytes(20), most - Bytes(5)};
    const Result<Sweep> sweep = run_sweep(graph, options);
    ASSERT_TRUE(sweep);
    std::vector<Bytes> budgets;
    for (const SweepPoint& point : sweep->curves.front().points) budgets.push_back(point.budget);
    EXPECT_EQ(budgets, (std::vector{most - Bytes(20), most - Bytes(5), most}));
}

/// Atlas ends at its first schedule, which is often worse than the schedules of the other solvers.
TEST(Sweep, gives_atlas_what_any_other_solver_found) {
    int recomputing = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 20});
        SweepOptions options = quick({"atlas", "dtr", "chen-greedy", "rotor"});
        options.limits = {.time = 24s, .gap = 1};
        const Result<Sweep> sweep = run_sweep(graph, options);
        ASSERT_TRUE(sweep) << sweep.error().message;
        for (std::size_t k = 0; k < sweep->curves.front().points.size(); ++k) {
            const SweepPoint& atlas = sweep->curves.front().points[k];
            for (const SweepCurve& other : sweep->curves) {
                for (const SweepPoint& point : other.points) {
                    if (point.status == "infeasible" || point.peak > atlas.budget) continue;
                    ASSERT_NE(atlas.status, "infeasible");
                    EXPECT_LE(atlas.overhead, point.overhead);
                    recomputing += other.solver != "atlas" && point.overhead > 1;
                }
            }
        }
    }
    EXPECT_GT(recomputing, 10);
}

TEST(CurveBudgets, are_the_middle_of_what_is_least_known) {
    const std::vector<CurveSample> ends{{Bytes(100), Bytes(100), 3, 2}, {Bytes(200), Bytes(200), 1, 1}};
    EXPECT_EQ(curve_area(ends), 100 * 2);
    EXPECT_EQ(next_budget(ends), Bytes(150));
    // The schedule found at 150 has a peak of 120. So an overhead of 1.5 can be reached from 120 on, and at
    // least 1.25 is needed up to 150.
    const std::vector<CurveSample> three{ends[0], {Bytes(150), Bytes(120), 1.5, 1.25}, ends[1]};
    EXPECT_EQ(curve_area(three), 20 * (3 - 1.25) + 30 * (1.5 - 1.25) + 50 * (1.5 - 1));
    EXPECT_EQ(next_budget(three), Bytes(110));
    EXPECT_EQ(next_budget({{CurveSample{Bytes(7), Bytes(7), 1, 1}}}), std::nullopt);
}

TEST(Sweep, reads_back_what_it_wrote) {
    const Graph graph = random_training_graph(5, {.forward_ops = 6});
    const Result<Sweep> sweep = run_sweep(graph, quick({"atlas", "keep-all"}));
    ASSERT_TRUE(sweep);
    const auto path = std::filesystem::path(testing::TempDir()) /
                      ("rematlas_" + std::to_string(::getpid()) + ".sweep.json");
    ASSERT_TRUE(write_sweep(*sweep, path));
    const Result<Sweep> read = read_sweep(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(sweep_text(*read), sweep_text(*sweep));
    ASSERT_TRUE(write_file(path, sweep_text(*sweep).substr(0, 100)));
    EXPECT_FALSE(read_sweep(path));
    std::filesystem::remove(path);
}

TEST(Sweep, an_unknown_solver_is_an_error_that_lists_the_known) {
    const Result<Sweep> sweep = run_sweep(random_training_graph(1), quick({"magic"}));
    ASSERT_FALSE(sweep);
    EXPECT_NE(sweep.error().message.find("keep-all"), std::string::npos);
}

TEST(Sweep, budgets_are_even_and_hold_both_ends) {
    EXPECT_EQ(even_budgets(Bytes(10), Bytes(30), 3), (std::vector{Bytes(10), Bytes(20), Bytes(30)}));
    EXPECT_EQ(even_budgets(Bytes(30), Bytes(30), 3), std::vector{Bytes(30)});
}

bool lacks_its_library(std::string_view solver) {
    return milp_libraries().empty() && solver.starts_with("checkmate");
}

TEST(SweepFiles, say_what_each_curve_may_copy_where_that_is_anything) {
    const Copies all{.what = Offload::all,
                     .links = {.to_host_bytes_per_second = 1e9,
                               .to_device_bytes_per_second = 2e9,
                               .copy_latency = Nanoseconds(7)},
                     .host_budget = Bytes(1000)};
    SweepPoint point{
        .budget = Bytes(10), .status = "feasible", .peak = Bytes(9), .overhead = 1.5, .steps = {}};
    point.host_peak = Bytes(600);
    const Sweep sweep{"g", "d", {{"atlas", {point}}, {"atlas", {point}, all}}};
    const Result<Sweep> read = parse_sweep(sweep_text(sweep), "s");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->curves[0].copies, Copies{});
    EXPECT_EQ(read->curves[1].copies, all);
    EXPECT_EQ(read->curves[1].points[0].host_peak, Bytes(600));
    const std::string before = sweep_text({"g", "d", {{"atlas", {}}}});
    EXPECT_EQ(before.find("offload"), std::string::npos) << "as files were before there were copies";
    const auto refused = [&](const std::string& field) {
        const Result<Sweep> other = parse_sweep(
            R"({"format":"rematlas.sweep","version":1,"graph":"g","curves":[{"solver":"a","points":[],)" +
                field + "}]}",
            "s");
        return other ? std::string() : other.error().message;
    };
    EXPECT_NE(refused(R"("offload":"some")").find("some"), std::string::npos);
    EXPECT_NE(refused(R"("offload":"all","links":3)").find("curves[0].links"), std::string::npos);
    EXPECT_NE(refused(R"("offload":"all","host_budget_bytes":-1)").find("host_budget_bytes"),
              std::string::npos);
    EXPECT_EQ(refused(R"("offload":"none")"), "");
}

TEST(SweepFiles, that_say_it_once_mean_all_of_their_curves) {
    const Result<Sweep> read = parse_sweep(
        R"({"format":"rematlas.sweep","version":1,"graph":"g","offload":"weights","curves":[
            {"solver":"atlas","points":[]},{"solver":"offmate","points":[]}]})",
        "s");
    ASSERT_TRUE(read) << read.error().message;
    for (const SweepCurve& curve : read->curves) EXPECT_EQ(curve.copies.what, Offload::weights);
}

TEST(Solve, every_solver_gives_a_checked_answer_no_better_than_the_optimum) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Graph graph = random_training_graph(seed);
        const FlatGraph flat = flatten(graph);
        const Bytes least = least_peak(flat).bytes;
        for (int share : {0, 1, 2}) {
            const Bytes budget = least + Bytes((keep_all_peak(flat) - least).value * share / 2);
            const auto optimum = brute_force(flat, budget.value);
            for (const SolverEntry* entry : all_solvers()) {
                const std::string name(entry->traits.name);
                if (lacks_its_library(name)) continue;
                Limits limits;
                limits.time = 20ms;
                const Result<Outcome> outcome =
                    solve(graph, {.solver = name, .budget = budget, .limits = limits});
                ASSERT_TRUE(outcome) << outcome.error().message;
                if (const Schedule* schedule = outcome->schedule()) {
                    ASSERT_TRUE(optimum) << name << " at " << seed;
                    EXPECT_GE(schedule->time.value, optimum->time) << name << " at " << seed;
                    // Bounds on other classes hold for fewer schedules than the exhaustive search tries.
                    const bool any_order =
                        schedule->bound && schedule->bound->over == ScheduleClass::any_order;
                    if (any_order && schedule->status == "optimal") {
                        EXPECT_EQ(schedule->time.value, optimum->time) << name << " at " << seed;
                    }
                    if (any_order) {
                        EXPECT_LE(schedule->bound->overhead * static_cast<double>(flat.base_time),
                                  static_cast<double>(optimum->time) * (1 + 1e-9))
                            << name << " at " << seed;
                    }
                } else if (outcome->infeasible()->proven) {
                    EXPECT_FALSE(optimum) << name << " at " << seed;
                    EXPECT_GT(outcome->infeasible()->needed, budget) << name << " at " << seed;
                    EXPECT_LE(outcome->infeasible()->needed.value, brute_force_least_peak(flat))
                        << name << " at " << seed;
                }
            }
        }
    }
}

TEST(Solve, below_the_proven_least_peak_every_solver_says_how_much_is_needed) {
    const Graph graph = random_training_graph(2);
    const Bytes least = least_peak(flatten(graph)).bytes;
    for (const SolverEntry* entry : all_solvers()) {
        const std::string name(entry->traits.name);
        if (lacks_its_library(name)) continue;
        const Result<Outcome> outcome = solve(graph, {.solver = name, .budget = least - Bytes(1)});
        ASSERT_TRUE(outcome);
        ASSERT_TRUE(outcome->infeasible()) << name;
        EXPECT_TRUE(outcome->infeasible()->proven);
        EXPECT_GE(outcome->infeasible()->needed, least);
        EXPECT_LE(outcome->infeasible()->needed.value, brute_force_least_peak(flatten(graph)));
        EXPECT_FALSE(outcome->infeasible()->dominant.empty());
    }
}

}  // namespace
}  // namespace rematlas
