// Tests properties of every answer of the published solvers: it is valid, within the budget, and not better
// than the optimum.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/chen/chen.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/hierarchical/hiremate.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "core/solvers/revolve/revolve.h"
#include "core/solvers/rotor/rotor.h"
#include "tests/core/support/answers.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

std::vector<std::unique_ptr<Solver>> solvers() {
    std::vector<std::unique_ptr<Solver>> all;
    all.push_back(make_chen_sqrt());
    all.push_back(make_chen_greedy());
    all.push_back(make_revolve());
    all.push_back(make_rotor());
    all.push_back(make_rotor({.slots = 10, .max_stages = 3}));
    const hierarchical::BlockTableOptions brief{
        .bottom = {.saved_limits = 2, .peak_limits = 2, .moves_an_op = 10, .least_moves = 100},
        .level_saved_limits = 2,
        .level_peak_limits = 2,
        .level_moves = 100};
    all.push_back(make_rockmate({.blocks = brief}));
    all.push_back(
        make_rockmate({.partition = {.by = Partition::bottom_up, .most_items = 2}, .blocks = brief}));
    HiremateOptions few;
    few.partition.most_items = 2;
    few.blocks = brief;
    all.push_back(make_hiremate(few));
    few.blocks.bottom.solver = hierarchical::BlockSolver::dtr;
    all.push_back(make_hiremate(few));
    HilpOptions small;
    small.hiremate.partition.most_items = 4;
    small.hiremate.blocks = brief;
    small.hiremate.blocks.level_saved_limits = small.hiremate.blocks.level_peak_limits = 1;
    small.hiremate.blocks.programme.emplace().time = std::chrono::milliseconds(5);
    all.push_back(make_hilp(small));
    for (DtrHeuristic heuristic :
         {DtrHeuristic::dtr_eq, DtrHeuristic::dtr, DtrHeuristic::local, DtrHeuristic::lru, DtrHeuristic::size,
          DtrHeuristic::msps, DtrHeuristic::random}) {
        for (DtrDeallocation deallocation :
             {DtrDeallocation::eager, DtrDeallocation::ignore, DtrDeallocation::banish}) {
            all.push_back(make_dtr({.heuristic = heuristic, .deallocation = deallocation}));
        }
    }
    return all;
}

/// Returns budgets from one byte below the least peak up to the peak without reruns.
std::vector<std::int64_t> budgets(const FlatGraph& flat) {
    const std::int64_t least = brute_force_least_peak(flat),
                       most = cost_of(flat, keep_all_sequence(flat)).peak;
    return {least - 1, least, least + (most - least) / 3, least + (most - least) * 2 / 3, most};
}

void compare_with_brute_force(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const auto all = solvers();
    for (std::int64_t budget : budgets(flat)) {
        const auto optimum = brute_force(flat, budget);
        for (const auto& solver : all) {
            const Answer answer = solver->solve({graph, flat}, Bytes(budget), {}, {});
            const std::string what = named(graph, *solver, Bytes(budget));
            expect_valid(graph, Bytes(budget), answer, what);
            const auto* solution = std::get_if<Solution>(&answer);
            if (!solution) continue;
            ASSERT_TRUE(optimum) << what;
            EXPECT_GE(solution->time.value, optimum->time) << what;
            if (solution->status == Status::optimal) {
                EXPECT_EQ(solution->time.value, optimum->time) << what;
            }
        }
    }
}

TEST(PublishedSolvers, never_beat_the_brute_force_on_random_training_graphs) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        compare_with_brute_force(
            random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 2)}));
}

TEST(PublishedSolvers, never_beat_the_brute_force_on_odd_graphs) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        compare_with_brute_force(random_odd_graph(seed, static_cast<int>(seed % 9)));
}

TEST(PublishedSolvers, give_valid_schedules_on_larger_random_graphs) {
    const auto all = solvers();
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        for (const Graph& graph :
             {random_training_graph(seed, {.forward_ops = 30}), random_odd_graph(seed, 60)}) {
            const FlatGraph flat = flatten(graph);
            const std::int64_t least = least_peak(flat).bytes.value,
                               most = cost_of(flat, keep_all_sequence(flat)).peak;
            for (int i = 0; i <= 4; ++i) {
                const Bytes budget(least + (most - least) * i / 4);
                for (const auto& solver : all) {
                    expect_valid(graph, budget, solver->solve({graph, flat}, budget, {}, {}),
                                 named(graph, *solver, budget));
                }
            }
        }
    }
}

TEST(PublishedSolvers, answer_at_the_peak_without_recomputation_with_no_rerun) {
    const Graph graph = random_training_graph(5, {.forward_ops = 20});
    const FlatGraph flat = flatten(graph);
    const Bytes peak(cost_of(flat, keep_all_sequence(flat)).peak);
    for (const auto& solver : solvers()) {
        const Answer answer = solver->solve({graph, flat}, peak, {}, {});
        ASSERT_TRUE(std::holds_alternative<Solution>(answer)) << solver->name();
        EXPECT_LE(std::get<Solution>(answer).overhead, 1.0) << solver->name();
    }
}

TEST(PublishedSolvers, keep_every_budget_of_the_problem_files) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    const auto all = solvers();
    for (const ProblemFile& problem : problems) {
        const FlatGraph flat = flatten(problem.graph);
        for (const ProblemFile::Reference& reference : problem.references) {
            for (const auto& solver : all) {
                const Answer answer = solver->solve({problem.graph, flat}, reference.budget, {}, {});
                const std::string what = named(problem.graph, *solver, reference.budget);
                expect_valid(problem.graph, reference.budget, answer, what);
                const auto* solution = std::get_if<Solution>(&answer);
                if (solution) {
                    EXPECT_GE(solution->overhead, reference.lower_bound - 1e-6) << what;
                }
            }
        }
    }
}

TEST(PublishedSolvers, say_why_they_found_nothing) {
    Graph graph = small_graph();
    graph.ops[OpId(1)].phase = Phase::loss;  // only one forward op is left
    for (const auto& [name, why] :
         {std::pair{"rotor", "no chain"}, {"revolve", "no chain"}, {"dtr", "left to evict"}}) {
        const Result<Outcome> outcome = solve(graph, {.solver = name, .budget = Bytes(409)});
        ASSERT_TRUE(outcome) << outcome.error().message;
        ASSERT_TRUE(outcome->infeasible()) << name;
        EXPECT_NE(outcome->infeasible()->reason.find(why), std::string::npos)
            << outcome->infeasible()->reason;
    }
}

TEST(PublishedSolvers, stop_when_asked) {
    const Graph graph = random_training_graph(3, {.forward_ops = 300});
    const FlatGraph flat = flatten(graph);
    std::stop_source stop;
    stop.request_stop();
    const Bytes budget(cost_of(flat, keep_all_sequence(flat)).peak * 2 / 3);
    for (const auto& solver : solvers()) {
        expect_valid(graph, budget, solver->solve({graph, flat}, budget, {.stop = stop.get_token()}, {}),
                     std::string(solver->name()));
    }
}

TEST(PublishedSolverOptions, name_the_key_that_is_wrong) {
    const auto message = [](const auto& result) {
        return result ? std::string("accepted") : result.error().message;
    };
    const nlohmann::json unknown = {{"segmnts", 3}}, type = {{"segments", "3"}}, range = {{"segments", -1}};
    EXPECT_EQ(message(options_from<ChenSqrtOptions>("chen-sqrt", &unknown)),
              "chen-sqrt: unknown option 'segmnts'");
    EXPECT_EQ(message(options_from<ChenSqrtOptions>("chen-sqrt", &type)),
              "chen-sqrt: option 'segments' must be an integer");
    EXPECT_EQ(message(options_from<ChenSqrtOptions>("chen-sqrt", &range)),
              "chen-sqrt: option 'segments' must be from 0 to 1000000");
    const nlohmann::json word = {{"heuristic", "best"}}, low = {{"thrash", 0.5}},
                         list = nlohmann::json::array();
    EXPECT_EQ(message(options_from<DtrOptions>("dtr", &word)),
              "dtr: option 'heuristic' must be one of dtr-eq, dtr, local, lru, size, msps, random");
    EXPECT_NE(message(options_from<DtrOptions>("dtr", &low)).find("'thrash'"), std::string::npos);
    EXPECT_NE(message(options_from<DtrOptions>("dtr", &list)).find("object"), std::string::npos);
    const nlohmann::json slots = {{"slots", 5}};
    EXPECT_EQ(message(options_from<RotorOptions>("rotor", &slots)),
              "rotor: option 'slots' must be from 10 to 100000");
    const nlohmann::json thresholds = {{"thresholds", 0.5}};
    EXPECT_EQ(message(options_from<ChenGreedyOptions>("chen-greedy", &thresholds)),
              "chen-greedy: option 'thresholds' must be an integer");
    const nlohmann::json good = {
        {"heuristic", "msps"}, {"deallocation", "banish"}, {"thrash", 3}, {"seed", 9}};
    ASSERT_TRUE(options_from<DtrOptions>("dtr", &good));
    EXPECT_EQ(options_from<DtrOptions>("dtr", &good)->heuristic, DtrHeuristic::msps);
    EXPECT_EQ(options_from<DtrOptions>("dtr", &good)->deallocation, DtrDeallocation::banish);
    EXPECT_TRUE(options_from<DtrOptions>("dtr", nullptr));
}

}  // namespace
}  // namespace rematlas
