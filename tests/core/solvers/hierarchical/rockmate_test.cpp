// What Rockmate and HiRemate promise beside what all solvers do (published_solvers_test.cpp).
#include "core/solvers/hierarchical/rockmate.h"

#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "core/solvers/hierarchical/hiremate.h"
#include "core/solvers/rotor/rotor.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

std::optional<std::int64_t> time_of(const Solver& solver, const Problem& problem, std::int64_t budget) {
    const Answer answer = solver.solve(problem, Bytes(budget), {.time = std::chrono::seconds(20)}, {});
    const auto* solution = std::get_if<Solution>(&answer);
    return solution ? std::optional(solution->time.value) : std::nullopt;
}

TEST(Rockmate, EqualsRotorOnChainsOfSingleOps) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_chain(seed, 4 + static_cast<int>(seed) / 2, seed % 2 == 0);
        const FlatGraph flat = flatten(graph);
        const std::int64_t most = keep_all_peak(flat).value, least = least_peak(flat).bytes.value;
        for (int i = 0; i <= 6; ++i) {
            const std::int64_t budget = least + (most - least) * i / 6;
            const auto rotor = time_of(*make_rotor(), {graph, flat}, budget);
            EXPECT_EQ(time_of(*make_rockmate(), {graph, flat}, budget), rotor)
                << graph.name << " at " << budget;
            found += rotor.has_value();
        }
    }
    EXPECT_GT(found, 100);
}

/// Wide layers between narrow boundaries: what is worth it inside a layer is out of Rotor's reach.
Graph gpt() {
    return gpt_graph({.layers = 6, .batch = 2, .sequence = 256, .width = 128, .heads = 4, .vocabulary = 512});
}

TEST(Rockmate, IsBetterThanRotorWhereLayersHaveChoices) {
    const Graph graph = gpt();
    const FlatGraph flat = flatten(graph);
    const std::int64_t most = keep_all_peak(flat).value;
    int better = 0;
    for (const double share : {0.5, 0.6, 0.7, 0.8, 0.9}) {
        const auto budget = static_cast<std::int64_t>(share * static_cast<double>(most));
        const auto rotor = time_of(*make_rotor(), {graph, flat}, budget);
        const auto rockmate = time_of(*make_rockmate(), {graph, flat}, budget);
        ASSERT_TRUE(rockmate) << share;
        better += !rotor || *rockmate < *rotor;
    }
    EXPECT_EQ(better, 5);
}

TEST(Rockmate, AnswersManyBudgetsFromOneTable) {
    const Graph graph = gpt();
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    const std::int64_t most = keep_all_peak(flat).value;
    const auto curve = make_rockmate()->up_to(problem, Bytes(most), {});
    ASSERT_TRUE(curve);
    for (const double share : {0.5, 0.7, 0.9}) {
        const auto budget = static_cast<std::int64_t>(share * static_cast<double>(most));
        EXPECT_EQ(time_of(*curve, problem, budget), time_of(*make_rockmate(), problem, budget)) << share;
    }
}

TEST(Hiremate, DependsOnTheSeedAloneWhateverTheThreads) {
    const Graph graph = gpt();
    const FlatGraph flat = flatten(graph);
    const Bytes budget(keep_all_peak(flat).value * 7 / 10);
    HiremateOptions options;
    options.blocks.level_moves = 1000;
    const auto steps = [&](int threads) {
        const Answer answer = make_hiremate(options)->solve(
            {graph, flat}, budget, {.time = std::chrono::minutes(5), .threads = threads}, {});
        return std::get<Solution>(answer).steps;
    };
    EXPECT_EQ(steps(1), steps(3));
}

TEST(Hiremate, IsNearTheOptimumOfTheReferenceProblems) {
    const std::vector<ProblemFile> files = read_problem_files();
    if (files.empty()) GTEST_SKIP() << kNoProblemFiles;
    int near = 0, all = 0;
    for (const ProblemFile& file : files) {
        const FlatGraph flat = flatten(file.graph);
        for (const ProblemFile::Reference& reference : file.references) {
            if (reference.lower_bound < reference.best_known * 0.999) continue;
            const auto time = time_of(*make_hiremate(), {file.graph, flat}, reference.budget.value);
            const double best = reference.best_known * static_cast<double>(flat.base_time);
            ++all;
            near += time && static_cast<double>(*time) <= 1.03 * best;
        }
    }
    EXPECT_GE(near * 10, all * 9) << near << " of " << all;
}

}  // namespace
}  // namespace rematlas
