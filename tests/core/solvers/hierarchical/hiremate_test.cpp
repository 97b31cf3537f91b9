// Tests properties that HiRemate and H-ILP have in addition to those of all solvers.
#include "core/solvers/hierarchical/hiremate.h"

#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor.h"
#include "tests/core/support/answers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

Graph small_gpt() {
    return gpt_graph({.layers = 6, .batch = 2, .sequence = 256, .width = 128, .heads = 4, .vocabulary = 512});
}

TEST(Hiremate, DependsOnTheSeedAloneWhateverTheThreads) {
    const Graph graph = small_gpt();
    const FlatGraph flat = flatten(graph);
    const Bytes budget(keep_all_peak(flat).value * 7 / 10);
    HiremateOptions options;
    options.blocks.level_moves = 1000;
    const auto steps = [&](int threads) {
        const Answer answer = make_hiremate(options)->solve(
            {graph, flat}, budget, {.time = std::chrono::hours(1), .threads = threads}, {});
        return std::get<Solution>(answer).steps;
    };
    EXPECT_EQ(steps(1), steps(3));
}

TEST(Hiremate, AnswersManyBudgetsFromOneTable) {
    const Graph graph = small_gpt();
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    const std::int64_t most = keep_all_peak(flat).value;
    HiremateOptions options;
    options.blocks.level_moves = 1000;
    const auto hiremate = make_hiremate(options);
    const auto prepared = hiremate->up_to(problem, Bytes(most), {.time = std::chrono::hours(1)});
    ASSERT_TRUE(prepared);
    for (const double share : {0.6, 0.8}) {
        const auto budget = static_cast<std::int64_t>(share * static_cast<double>(most));
        const auto alone = time_of(*hiremate, problem, budget, std::chrono::hours(1));
        ASSERT_TRUE(alone);
        EXPECT_EQ(time_of(*prepared, problem, budget, std::chrono::hours(1)), alone) << share;
    }
}

TEST(Hiremate, IsNearTheOptimumOfTheReferenceProblems) {
    const std::vector<ProblemFile> files = read_problem_files();
    if (files.empty()) GTEST_SKIP() << kNoProblemFiles;
    int near = 0, all = 0;
    for (const ProblemFile& file : files) {
        const FlatGraph flat = flatten(file.graph);
        for (const ProblemFile::Reference& reference : file.references) {
            if (reference.lower_bound < reference.best_known * 0.999) continue;
            const auto time =
                time_of(*make_hiremate(), {file.graph, flat}, reference.budget.value, std::chrono::hours(1));
            const double best = reference.best_known * static_cast<double>(flat.base_time);
            ++all;
            near += time && static_cast<double>(*time) <= 1.03 * best;
        }
    }
    EXPECT_GE(near * 10, all * 9) << near << " of " << all;
}

/// One level of ten blocks covers the whole chain, and the integer program of this level includes all of
/// Rotor's schedules.
TEST(Hilp, IsNotWorseThanRotorOnShortChains) {
    HilpOptions options;
    options.hiremate.blocks.level_moves = 100;
    options.hiremate.blocks.programme->time = std::chrono::hours(1);
    options.hiremate.blocks.programme->gap = 0;
    int found = 0, better = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Graph graph = random_chain(seed, 6, seed % 2 == 0);
        const FlatGraph flat = flatten(graph);
        const std::int64_t most = keep_all_peak(flat).value, least = least_peak(flat).bytes.value;
        for (int i = 0; i <= 4; ++i) {
            const std::int64_t budget = least + (most - least) * i / 4;
            const auto rotor = time_of(*make_rotor(), {graph, flat}, budget, std::chrono::hours(1));
            const auto hilp = time_of(*make_hilp(options), {graph, flat}, budget, std::chrono::hours(1));
            if (!rotor) continue;
            ASSERT_TRUE(hilp) << graph.name << " at " << budget;
            EXPECT_LE(*hilp, *rotor) << graph.name << " at " << budget;
            ++found;
            better += *hilp < *rotor;
        }
    }
    EXPECT_GT(found, 20);
    EXPECT_GT(better, 0);
}

}  // namespace
}  // namespace rematlas
