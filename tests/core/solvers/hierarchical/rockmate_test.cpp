// Tests properties that Rockmate has in addition to those of all solvers.
#include "core/solvers/hierarchical/rockmate.h"

#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor.h"
#include "tests/core/support/answers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

constexpr std::chrono::hours kAmple(1);  // longer than any table takes

TEST(Rockmate, EqualsRotorOnChainsOfSingleOps) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_chain(seed, 4 + static_cast<int>(seed) / 2, seed % 2 == 0);
        const FlatGraph flat = flatten(graph);
        const std::int64_t most = keep_all_peak(flat).value, least = least_peak(flat).bytes.value;
        for (int i = 0; i <= 6; ++i) {
            const std::int64_t budget = least + (most - least) * i / 6;
            const auto rotor = time_of(*make_rotor(), {graph, flat}, budget, kAmple);
            EXPECT_EQ(time_of(*make_rockmate(), {graph, flat}, budget, kAmple), rotor)
                << graph.name << " at " << budget;
            found += rotor.has_value();
        }
    }
    EXPECT_GT(found, 100);
}

/// In this graph, layers are wide inside and narrow at their boundaries. The best choices are inside the
/// layers, where Rotor cannot choose.
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
        const auto rotor = time_of(*make_rotor(), {graph, flat}, budget, kAmple);
        const auto rockmate = time_of(*make_rockmate(), {graph, flat}, budget, kAmple);
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
    const auto curve = make_rockmate()->up_to(problem, Bytes(most), {.time = kAmple});
    ASSERT_TRUE(curve);
    for (const double share : {0.5, 0.7, 0.9}) {
        const auto budget = static_cast<std::int64_t>(share * static_cast<double>(most));
        EXPECT_EQ(time_of(*curve, problem, budget, kAmple),
                  time_of(*make_rockmate(), problem, budget, kAmple))
            << share;
    }
}

}  // namespace
}  // namespace rematlas
