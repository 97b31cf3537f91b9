#include "core/solvers/dtr/dtr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/core/support/long_chain.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Tests the theorem in section 3 of the DTR paper: with memory of O(sqrt(n)), online eviction runs O(n) ops.
TEST(Dtr, runs_a_number_of_ops_linear_in_the_chain_with_memory_of_the_order_of_its_root) {
    for (int n : {16, 64, 144, 256, 484}) {
        const Graph graph = unit_chain(n);
        const FlatGraph flat = flatten(graph);
        const Bytes budget(2 * static_cast<std::int64_t>(std::ceil(std::sqrt(n))));
        for (DtrHeuristic heuristic : {DtrHeuristic::dtr, DtrHeuristic::dtr_eq}) {
            const Answer answer = make_dtr({.heuristic = heuristic})->solve({graph, flat}, budget, {}, {});
            ASSERT_TRUE(std::holds_alternative<Solution>(answer)) << n;
            EXPECT_LE(std::get<Solution>(answer).overhead, 1.6) << n;
        }
    }
}

/// Compares the answers with the results of the published simulator on the same graphs and budgets.
TEST(Dtr, gives_the_published_figures) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    const std::map<std::string, DtrHeuristic> heuristics{
        {"DTR", DtrHeuristic::dtr},        {"DTREqClass", DtrHeuristic::dtr_eq},
        {"DTRLocal", DtrHeuristic::local}, {"MSPS", DtrHeuristic::msps},
        {"LRU", DtrHeuristic::lru},        {"LargestStorage", DtrHeuristic::size}};
    int compared = 0;
    for (const ProblemFile& problem : problems) {
        const FlatGraph flat = flatten(problem.graph);
        for (const ProblemFile::Reference& reference : problem.references) {
            for (const auto& [name, heuristic] : heuristics) {
                const auto published = reference.dtr.find(name);
                if (published == reference.dtr.end()) continue;
                const Answer answer = make_dtr({.heuristic = heuristic})
                                          ->solve({problem.graph, flat}, reference.budget, {}, {});
                const auto* solution = std::get_if<Solution>(&answer);
                const std::string what =
                    problem.graph.name + " " + name + " at " + std::to_string(reference.fraction);
                ASSERT_TRUE(solution) << what;
                EXPECT_NEAR(solution->overhead, published->second, 1e-4) << what;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace rematlas
