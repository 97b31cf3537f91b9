// Runs the graphs in resources/graphs, captured from real models, through all of core.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/hierarchy/decompose.h"
#include "core/planning/registry.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/ending_solvers.h"

namespace rematlas {
namespace {

using std::chrono::hours;

class SampleGraph : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        Result<Graph> read = read_graph(std::filesystem::path(REMATLAS_SOURCE_DIR) / "resources/graphs" /
                                        (std::string(GetParam()) + ".graph.json"));
        ASSERT_TRUE(read) << read.error().message;
        graph_ = read.take();
    }
    Graph graph_;
};

TEST_P(SampleGraph, is_written_back_byte_for_byte) {
    EXPECT_EQ(parse_graph(graph_text(graph_), "again")->sha256, graph_.sha256);
}

TEST_P(SampleGraph, has_a_hierarchy_with_a_twin_for_each_forward_module_that_learns) {
    const auto blocks = decompose(graph_);
    std::size_t twins = 0;
    for (BlockId id : blocks.ids()) twins += blocks[id].twin.valid();
    EXPECT_GE(twins, 4u);
}

/// No result depends on time: Atlas ends after a number of moves, and the other solvers end by themselves.
TEST_P(SampleGraph, atlas_is_no_worse_than_any_solver_that_needs_no_limit) {
    const FlatGraph flat = flatten(graph_);
    const Problem problem{graph_, flat};
    const Bytes least = least_peak(flat).bytes, most = keep_all_peak(flat);
    std::vector<std::string_view> names(std::begin(kEndingSolvers), std::end(kEndingSolvers));
    names.push_back("rockmate");
    for (int share : {35, 60, 85}) {
        const Bytes budget = least + Bytes((most - least).value * share / 100);
        const Result<Outcome> atlas =
            solve(problem, *make_atlas({.max_moves = 100'000}), budget, {.time = hours(1)});
        ASSERT_TRUE(atlas) << atlas.error().message;
        for (const std::string_view name : names) {
            const Result<std::unique_ptr<Solver>> solver = make_solver(name);
            ASSERT_TRUE(solver) << solver.error().message;
            const Result<Outcome> outcome = solve(problem, **solver, budget, {.time = hours(1)});
            ASSERT_TRUE(outcome) << outcome.error().message;
            if (!outcome->schedule()) continue;
            ASSERT_TRUE(atlas->schedule()) << name << " at " << share;
            EXPECT_LE(atlas->schedule()->overhead, outcome->schedule()->overhead + 1e-12)
                << name << " at " << share;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Captured, SampleGraph, testing::Values("mlp", "unet", "gpt"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace rematlas
