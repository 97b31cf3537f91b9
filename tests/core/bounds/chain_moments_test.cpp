// The bounds of relaxations over a chain of moments must not be above the optimum that brute force finds over
// all orders and reruns, on any kind of graph and for any multipliers.
#include "core/bounds/chain_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/bounds/best_bound.h"
#include "core/bounds/first_order_lp.h"
#include "core/bounds/whole_moments.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

constexpr ChainMomentsOptions kSettings[] = {{.moments = 1, .join = 0},
                                             {.moments = 2, .join = 2},
                                             {.join = 0},
                                             {.join = 2},
                                             {.join = 4},
                                             {.join = 2, .suffixes = true},
                                             {.moments = 3, .join = 3, .suffixes = true}};

/// A budget for a graph, and the least time of any schedule within the budget.
struct Case {
    const FlatGraph& flat;
    std::int64_t budget, optimum, required;
    std::string name;
};

/// Visits about five budgets, from the least possible budget to one at which no op has to run again. Returns
/// the number of budgets.
template <class Visit>
int for_each_case(const Graph& graph, const Visit& visit) {
    const FlatGraph flat = flatten(graph);
    std::int64_t required = 0;
    for (int op = 0; op < flat.op_count; ++op) required += flat.required[op] ? flat.time[op] : 0;
    const std::int64_t least = brute_force_least_peak(flat),
                       most = cost_of(flat, keep_all_sequence(flat)).peak;
    int cases = 0;
    for (std::int64_t budget = least; budget <= most;
         budget += std::max<std::int64_t>(1, (most - least) / 4)) {
        const auto optimum = brute_force(flat, budget);
        EXPECT_TRUE(optimum);
        if (!optimum) break;
        visit(Case{flat, budget, optimum->time, required, graph.name + " at " + std::to_string(budget)});
        ++cases;
    }
    return cases;
}

/// Measures how near the bounds are to the optimum: 0 if a bound counts only one run of each required op, 1
/// if it is the optimum. The limits in the tests are only a little below the values of today. So the tests
/// fail if a relaxation lacks a constraint.
struct ShareProven {
    int cases = 0;
    double share = 0;
    void add(const Case& c, std::int64_t bound) {
        if (c.optimum == c.required) return;
        ++cases;
        share += static_cast<double>(bound - c.required) / static_cast<double>(c.optimum - c.required);
    }
    double mean() const { return cases == 0 ? 0 : share / cases; }
};

/// Returns multipliers of all sizes; most are 0 or small.
std::vector<double> any_multipliers(std::size_t rows, std::mt19937_64& random) {
    std::vector<double> multipliers(rows);
    for (double& y : multipliers) {
        const double u = std::uniform_real_distribution<double>(0, 1)(random);
        y = random() % 3 == 0 ? 0 : random() % 50 == 0 ? 1e30 * u : 10 * u;
    }
    return multipliers;
}

void expect_relaxations_below_optimum(const Graph& graph, ShareProven& one, ShareProven& all,
                                      ShareProven& each) {
    std::mt19937_64 random(graph.tensors.size());
    for_each_case(graph, [&](const Case& c) {
        std::int64_t best = c.required, single = c.required;
        for (const ChainMomentsOptions& settings : kSettings) {
            const ChainMoments relaxation(c.flat, c.budget, settings);
            const std::string where = c.name + " moments " + std::to_string(settings.moments) + " join " +
                                      std::to_string(settings.join);
            EXPECT_FALSE(relaxation.impossible()) << where;
            const DualBest found = solve_relaxation(relaxation.programme(), {.iterations = 400});
            EXPECT_LE(found.value.bound, c.optimum) << where;
            EXPECT_FALSE(found.value.infeasible) << where;
            const std::vector<double> wild = any_multipliers(relaxation.programme().rows(), random);
            EXPECT_LE(dual_value(relaxation.programme(), wild).bound, c.optimum) << where;
            best = std::max(best, found.value.bound);
            each.add(c, found.value.bound);
            if (settings.moments == 1) single = found.value.bound;
        }
        one.add(c, single);
        all.add(c, best);
    });
}

TEST(ChainMoments, is_never_above_the_optimum_of_random_training_graphs) {
    ShareProven one, all, each;
    for (std::uint64_t seed = 1; seed <= 1200; ++seed) {
        const int forward_ops = seed % 40 == 0 ? 4 : 2 + static_cast<int>(seed % 2);
        expect_relaxations_below_optimum(random_training_graph(seed, {.forward_ops = forward_ops}), one, all,
                                         each);
    }
    EXPECT_GT(all.cases, 1000);
    EXPECT_GT(all.mean(), 0.743);
    EXPECT_GT(all.mean(), one.mean() + 0.05);
    EXPECT_GT(each.mean(), 0.716);
}

TEST(ChainMoments, is_never_above_the_optimum_with_several_results) {
    ShareProven one, all, each;
    for (std::uint64_t seed = 5001; seed <= 5600; ++seed) {
        const Graph graph = random_training_graph(
            seed, {.forward_ops = 3, .several_outputs = false, .inplace = false, .run_once = false});
        expect_relaxations_below_optimum(graph, one, all, each);
    }
    EXPECT_GT(all.mean(), 0.759);
    EXPECT_GT(each.mean(), 0.732);
}

TEST(ChainMoments, is_never_above_the_optimum_of_odd_graphs) {
    ShareProven one, all, each;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed)
        expect_relaxations_below_optimum(random_odd_graph(seed, static_cast<int>(seed % 10)), one, all, each);
    EXPECT_GT(all.mean(), 0.475);
    EXPECT_GT(each.mean(), 0.464);
}

TEST(ChainMoments, is_never_above_the_best_known_overhead_of_the_problem_files) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    for (const ProblemFile& problem : problems) {
        const FlatGraph flat = flatten(problem.graph);
        for (const ProblemFile::Reference& reference : problem.references) {
            const ChainMoments relaxation(flat, reference.budget.value, {.moments = 16});
            const DualBest found = solve_relaxation(relaxation.programme(), {.iterations = 500});
            EXPECT_LE(static_cast<double>(found.value.bound) / static_cast<double>(flat.base_time),
                      reference.best_known + 1e-9)
                << problem.graph.name << " at " << reference.fraction;
        }
    }
}

Graph with_other_tensor_ids(const Graph& graph, std::uint64_t seed) {
    std::vector<std::int32_t> ids(graph.tensors.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), std::mt19937_64(seed));
    const auto renamed = [&](TensorId t) { return TensorId(ids[t.index()]); };
    Graph other = graph;
    for (const TensorId t : graph.tensors.ids()) other.tensors[renamed(t)] = graph.tensors[t];
    for (Op& op : other.ops) {
        for (TensorId& t : op.inputs) t = renamed(t);
        for (TensorId& t : op.outputs) t = renamed(t);
        for (InplacePair& pair : op.inplace) pair = {.out = renamed(pair.out), .in = renamed(pair.in)};
    }
    for (TensorId& t : other.results) t = renamed(t);
    return other;
}

TEST(ChainMoments, has_the_same_optimum_whatever_the_ids_of_the_tensors) {
    if (milp_libraries().empty()) GTEST_SKIP() << "this build has neither HiGHS nor GLPK";
    const auto optimum = [](const ChainMoments& relaxation) {
        const Result<MilpAnswer> answer =
            solve_milp(milp_libraries().front(), relaxation.programme(), {.relaxed = true});
        return answer ? answer->objective : NAN;
    };
    int above = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        for (const Graph& graph :
             {random_training_graph(seed, {.forward_ops = 4}), random_odd_graph(seed, 12)}) {
            const FlatGraph flat = flatten(graph), other = flatten(with_other_tensor_ids(graph, seed));
            const std::int64_t least = least_peak(flat).bytes.value,
                               most = cost_of(flat, required_once(flat)).peak;
            for (const std::int64_t budget : {least, (3 * least + most) / 4, (least + most) / 2}) {
                for (const ChainMomentsOptions& settings : kSettings) {
                    const double of_one = optimum(ChainMoments(flat, budget, settings)),
                                 of_other = optimum(ChainMoments(other, budget, settings));
                    ASSERT_TRUE(of_one == of_other || std::abs(of_one - of_other) < 1e-5)
                        << of_one << " and " << of_other << ", " << graph.name << " at " << budget;
                    above += of_one > static_cast<double>(cost_of(flat, required_once(flat)).time) + 1e-5;
                }
            }
        }
    }
    EXPECT_GT(above, 400);
}

TEST(ChainMoments, proves_that_nothing_fits_a_budget_below_what_one_op_takes) {
    const FlatGraph flat = flatten(random_chain(3, 6));
    const ChainMoments relaxation(flat, least_peak(flat).bytes.value - 1);
    const bool proven =
        relaxation.impossible() || solve_relaxation(relaxation.programme(), {}).value.infeasible;
    EXPECT_TRUE(proven);
    EXPECT_TRUE(std::isinf(best_bound(flat, Bytes(least_peak(flat).bytes.value - 1)).overhead));
}

TEST(DualValue, is_exact_where_doubles_are_not) {
    // 3 x >= 1, and x costs 2^52 + 1: the multiplier 2^50 proves a bound of exactly 2^50 (plus the offset).
    MilpModel programme;
    const std::int64_t cost = (std::int64_t{1} << 52) + 1;
    const int x = programme.add_column({.lower = 0, .upper = 1, .cost = static_cast<double>(cost)});
    programme.add_row(1, kInfinite, std::vector<std::pair<int, double>>{{x, 3.0}});
    programme.offset = 7;
    EXPECT_EQ(dual_value(programme, std::vector<double>{std::ldexp(1.0, 50)}).bound,
              7 + (std::int64_t{1} << 50));
    EXPECT_EQ(dual_value(programme, std::vector<double>{std::ldexp(1.0, 50)}).reduced_cost,
              std::vector<std::int64_t>{cost - 3 * (std::int64_t{1} << 50)});
    EXPECT_EQ(dual_value(programme, std::vector<double>{-5.0}).bound, 7);
    EXPECT_EQ(dual_value(programme, std::vector<double>{std::nan("")}).bound, 7);
    EXPECT_LE(dual_value(programme, std::vector<double>{kInfinite}).bound, 7 + (cost + 2) / 3);
}

TEST(DualValue, proves_that_there_is_no_point_also_where_nothing_costs) {
    MilpModel programme;
    const int x = programme.add_column({.lower = 0, .upper = 1, .cost = 0});
    programme.add_row(2, kInfinite, std::vector<std::pair<int, double>>{{x, 1.0}});
    EXPECT_TRUE(dual_value(programme, std::vector<double>{1}).infeasible);
    EXPECT_FALSE(dual_value(programme, std::vector<double>{0}).infeasible);
}

TEST(FirstOrderLp, comes_to_the_optimum_of_a_small_programme) {
    // Three sets, each of which covers two of three elements. In the relaxation, covering all elements costs
    // 3/2 of the cost of one set.
    MilpModel programme;
    for (int i = 0; i < 3; ++i) programme.add_column({.lower = 0, .upper = 1, .cost = 1e9});
    for (int i = 0; i < 3; ++i)
        programme.add_row(1, kInfinite, std::vector<std::pair<int, double>>{{i, 1.0}, {(i + 1) % 3, 1.0}});
    EXPECT_NEAR(static_cast<double>(solve_relaxation(programme, {}).value.bound), 1.5e9, 1e3);
}

TEST(FirstOrderLp, sees_that_there_is_no_point) {
    MilpModel programme;
    for (int i = 0; i < 2; ++i) programme.add_column({.lower = 0, .upper = 1, .cost = 10});
    programme.add_row(2, kInfinite, std::vector<std::pair<int, double>>{{0, 1.0}, {1, 1.0}});
    programme.add_row(-1, kInfinite, std::vector<std::pair<int, double>>{{0, -1.0}, {1, -1.0}});
    EXPECT_TRUE(solve_relaxation(programme, {}).value.infeasible);
}

/// Counts how many integer programs were solved, how many solutions were read back as sequences, and how many
/// of these sequences are optimal.
struct WholeTally {
    ShareProven proven;
    int solved = 0, read_back = 0, optimal = 0;
};

void expect_whole_below_optimum(const Graph& graph, MilpLibrary library, WholeTally& tally) {
    for_each_case(graph, [&](const Case& c) {
        const ChainMoments relaxation(c.flat, c.budget, {.join = 2});
        const DualValue relaxed = solve_relaxation(relaxation.programme(), {.iterations = 200}).value;
        for (const std::int64_t known :
             {std::numeric_limits<std::int64_t>::max(), c.optimum + 5, c.optimum}) {
            const Result<WholeMoments> whole = solve_whole_moments(
                c.flat, Bytes(c.budget), relaxed, library, {.time = std::chrono::hours(1), .known = known});
            ASSERT_TRUE(whole);
            EXPECT_LE(whole->bound, c.optimum) << c.name << " known " << known;
            EXPECT_GE(whole->bound, relaxed.bound) << c.name;
            if (!whole->runs.empty()) {
                ASSERT_TRUE(is_executable(c.flat, whole->runs)) << c.name;
                const SequenceCost cost = cost_of(c.flat, whole->runs);
                EXPECT_TRUE(cost.peak > c.budget || cost.time >= c.optimum) << c.name;
                tally.optimal += cost.peak <= c.budget && cost.time == c.optimum;
            }
            ++tally.solved;
            tally.read_back += !whole->runs.empty();
            if (known > c.optimum + 5) tally.proven.add(c, whole->bound);
        }
    });
}

TEST(WholeMoments, is_never_above_the_optimum) {
    if (milp_libraries().empty()) GTEST_SKIP() << "this build has neither HiGHS nor GLPK";
    for (const MilpLibrary library : milp_libraries()) {
        WholeTally training, odd;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            expect_whole_below_optimum(random_training_graph(seed, {.forward_ops = 3}), library, training);
            expect_whole_below_optimum(random_odd_graph(seed, 8), library, odd);
        }
        EXPECT_GT(training.proven.mean(), 0.8) << to_string(library);
        EXPECT_GT(odd.proven.mean(), 0.63) << to_string(library);
        EXPECT_GT(training.read_back, training.solved * 3 / 4) << to_string(library);
        EXPECT_GT(training.optimal, training.solved * 57 / 100) << to_string(library);
        EXPECT_GT(odd.read_back, odd.solved * 3 / 4) << to_string(library);
        EXPECT_GT(odd.optimal, odd.solved * 6 / 10) << to_string(library);
    }
}

TEST(BestBound, is_never_above_the_optimum_and_often_meets_it) {
    int cases = 0, met = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Graph graphs[] = {random_training_graph(seed, {.forward_ops = 3}),
                                random_odd_graph(seed, static_cast<int>(seed % 10))};
        for (const Graph& graph : graphs) {
            for_each_case(graph, [&](const Case& c) {
                const ProvenBound bound =
                    best_bound(c.flat, Bytes(c.budget), {.time = std::chrono::hours(1)});
                EXPECT_LE(bound.time, c.optimum) << c.name;
                EXPECT_GE(bound.time, c.required) << c.name;
                ++cases;
                met += bound.time == c.optimum;
            });
        }
    }
    EXPECT_GT(met, milp_libraries().empty() ? cases / 2 : cases * 92 / 100);
}

TEST(BestBound, returns_what_is_known_when_stopped) {
    const FlatGraph flat = flatten(random_training_graph(1, {.forward_ops = 60}));
    std::stop_source stop;
    stop.request_stop();
    const Bytes budget(least_peak(flat).bytes.value + 20);
    const ProvenBound bound = best_bound(flat, budget, {.stop = stop.get_token()});
    EXPECT_EQ(bound.by, ProvenBound::By::required_runs);
    EXPECT_LE(bound.overhead, 1.0);
}

TEST(Solve, claims_less_of_a_schedule_that_copies_to_the_host) {
    Graph graph = random_chain(3, 4, true);
    graph.device = Device{.name = "",
                          .memory = {},
                          .links = {.to_host_bytes_per_second = 1e11, .to_device_bytes_per_second = 1e11}};
    const FlatGraph flat = flatten(graph);
    const Bytes budget(brute_force_least_peak(flat) + 1);
    Schedule schedule;
    schedule.time = Nanoseconds(brute_force(flat, budget.value)->time);
    schedule.overhead = static_cast<double>(schedule.time.value) / static_cast<double>(flat.base_time);
    Schedule copying = schedule;
    copying.steps = {Step::run(OpId(0)), Step::offload(graph.ops[OpId(0)].outputs.front())};
    for (Schedule* s : {&schedule, &copying})
        ASSERT_TRUE(add_bound({graph, flat}, budget, {.time = std::chrono::hours(1)}, *s));
    EXPECT_EQ(schedule.bound->over, ScheduleClass::any_order);
    EXPECT_EQ(copying.bound->over, ScheduleClass::with_copies);
    EXPECT_LT(copying.bound->overhead, copying.overhead);
}

/// Rotor is optimal on most of these chains, but it proves no bound itself.
TEST(Solve, takes_more_time_for_the_bound_and_calls_a_schedule_without_gap_optimal) {
    if (milp_libraries().empty()) GTEST_SKIP() << "this build has neither HiGHS nor GLPK";
    int optimal = 0, proven_before = 0, proven = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_chain(seed, 4, true);
        const FlatGraph flat = flatten(graph);
        const Bytes budget(brute_force_least_peak(flat) + 3);
        const auto optimum = brute_force(flat, budget.value);
        const auto by_rotor = [&](std::chrono::nanoseconds bound_time) {
            return solve(graph, {.solver = "rotor",
                                 .budget = budget,
                                 .limits = {.time = std::chrono::hours(1), .bound_time = bound_time}});
        };
        const Result<Outcome> brief = by_rotor({}), outcome = by_rotor(std::chrono::hours(1));
        ASSERT_TRUE(brief && outcome && optimum);
        const Schedule* schedule = outcome->schedule();
        if (!schedule || !brief->schedule()) continue;
        ASSERT_TRUE(schedule->bound);
        EXPECT_EQ(schedule->bound->over, ScheduleClass::any_order);
        EXPECT_GE(schedule->bound->overhead, brief->schedule()->bound->overhead);
        EXPECT_TRUE(schedule->bound->seconds > 0 || schedule->overhead == 1) << graph.name;
        const bool is_optimum = schedule->time.value == optimum->time;
        EXPECT_TRUE(is_optimum || schedule->status != "optimal") << graph.name;
        optimal += is_optimum;
        proven_before += brief->schedule()->status == "optimal";
        proven += schedule->status == "optimal";
    }
    EXPECT_GT(proven, proven_before);
    EXPECT_GE(proven, optimal * 8 / 10);
}

}  // namespace
}  // namespace rematlas
