// Tests the parts of Rockmate and HiRemate: options of blocks, and levels made of such options.
#include "core/solvers/hierarchical/block_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::hierarchical {
namespace {

const BlockTableOptions kBrief{
    .bottom = {.saved_limits = 3, .peak_limits = 2, .moves_an_op = 20, .least_moves = 500},
    .level_saved_limits = 3,
    .level_peak_limits = 2,
    .level_moves = 2000};

struct Filled {
    Filled(Graph of, const PartitionOptions& partition, const BlockTableOptions& options = kBrief)
        : graph(std::move(of)),
          flat(flatten(graph)),
          table({graph, flat}, training_tree(graph, flat, partition), options) {
        EXPECT_TRUE(table.fill(Deadline(Limits{.time = std::chrono::minutes(10)}), 1));
    }
    bool is_bottom(int block) const { return table.tree().blocks[block].children.empty(); }
    int size() const { return static_cast<int>(table.tree().blocks.size()); }

    Graph graph;
    FlatGraph flat;
    BlockTable table;
};

Graph small_gpt() {
    return gpt_graph({.layers = 4, .batch = 1, .sequence = 32, .width = 32, .heads = 2, .vocabulary = 64});
}

/// Returns the option as one sequence of the block's own ops.
RunSequence whole(const Subproblem& part, const BlockOption& option) {
    RunSequence runs = option.forward;
    if (part.outside >= 0) runs.push_back(part.outside);
    runs.insert(runs.end(), option.backward.begin(), option.backward.end());
    return runs;
}

TEST(BlockTable, blocks_of_blocks_too_have_options_that_save_less_than_keeping_all) {
    const Filled filled(small_gpt(), {.most_items = 4});
    int nested = 0;
    for (int b = 1; b < filled.size(); ++b) {
        if (filled.is_bottom(b)) continue;
        const std::vector<BlockOption>& options = filled.table.options_of(b).options;
        const BlockOption all = keep_all_option(filled.table.part(b));
        if (all.saved == 0) continue;
        ++nested;
        std::int64_t least_saved = all.saved;
        for (const BlockOption& option : options) least_saved = std::min(least_saved, option.saved);
        EXPECT_LT(least_saved, all.saved / 2) << b;
        EXPECT_GT(options.size(), 1u) << b;
    }
    EXPECT_GT(nested, 4);
}

void expect_costs_as_run(const Subproblem& part, const BlockOption& option) {
    const RunSequence runs = whole(part, option);
    ASSERT_TRUE(is_executable(part.flat, runs));
    const std::vector<std::int64_t> memory = memory_of(part.flat, runs);
    const auto end_of_first = memory.begin() + static_cast<std::ptrdiff_t>(option.forward.size());
    const std::int64_t outside = part.outside < 0 ? 0 : part.flat.time[part.outside];
    EXPECT_EQ(option.time(), cost_of(part.flat, runs).time - outside);
    if (!option.forward.empty()) {
        EXPECT_EQ(option.forward_peak, *std::max_element(memory.begin(), end_of_first));
    }
    if (!option.backward.empty()) {
        EXPECT_EQ(option.backward_peak, *std::max_element(end_of_first + 1, memory.end()));
        const std::int64_t beside = bytes_beside(part) + part.flat.workspace[part.outside];
        EXPECT_EQ(option.saved, *end_of_first - beside);
    }
}

/// Says whether `a` is at least as good as `b` in every property.
bool as_good(const BlockOption& a, const BlockOption& b) {
    return a.time() <= b.time() && a.saved <= b.saved && a.forward_peak <= b.forward_peak &&
           a.backward_peak <= b.backward_peak && a.held.size() <= b.held.size() &&
           a.reread.size() <= b.reread.size();
}

TEST(BlockTable, options_cost_what_their_runs_do_and_none_dominates_another) {
    int checked = 0;
    const auto check = [&](const Filled& filled) {
        for (int b = 1; b < filled.size(); ++b) {
            const std::vector<BlockOption>& options = filled.table.options_of(b).options;
            ASSERT_FALSE(options.empty());
            for (std::size_t i = 0; i < options.size(); ++i) {
                ++checked;
                expect_costs_as_run(filled.table.part(b), options[i]);
                EXPECT_TRUE(i == 0 || options[i - 1].time() <= options[i].time()) << "the fastest first";
                for (std::size_t k = 0; k < options.size(); ++k)
                    EXPECT_TRUE(k == i || !as_good(options[k], options[i]))
                        << filled.graph.name << ", block " << b;
            }
        }
    };
    check(Filled(small_gpt(), {.most_items = 4}));
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        check(Filled(random_training_graph(seed, {.forward_ops = 12}), {.most_items = 3}));
    EXPECT_GT(checked, 250);
}

BlockTableOptions by(BlockSolver solver) {
    BlockTableOptions options = kBrief;
    options.bottom.solver = solver;
    options.bottom.programme = {.time = std::chrono::hours(1), .gap = 1e-6};
    return options;
}

/// Returns the least time of the options that keep both limits, or nullopt if no option does.
std::optional<std::int64_t> least_time(const BlockOptions& options, std::int64_t saved, std::int64_t peak) {
    std::optional<std::int64_t> least;
    for (const BlockOption& option : options.options)
        if (option.saved <= saved && option.forward_peak <= peak && option.backward_peak <= peak)
            least = std::min(least.value_or(option.time()), option.time());
    return least;
}

TEST(BlockTable, options_come_from_the_solver_that_was_asked_for) {
    if (milp_libraries().empty()) GTEST_SKIP() << "built without a library of programmes";
    const BlockTableOptions dtr = by(BlockSolver::dtr), checkmate = by(BlockSolver::checkmate);
    int blocks = 0, as_good_as_online = 0, better_than_online = 0, fewer = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 10});
        const Filled online(graph, {.most_items = 5}, dtr), programmed(graph, {.most_items = 5}, checkmate);
        ASSERT_EQ(online.size(), programmed.size());
        for (int b = 1; b < online.size(); ++b) {
            const Subproblem& part = online.table.part(b);
            if (!online.is_bottom(b) || part.outside < 0) continue;
            for (const BlockOption& option : online.table.options_of(b).options) {
                expect_costs_as_run(part, option);
                const std::int64_t peak = std::max(option.forward_peak, option.backward_peak);
                const auto time = least_time(programmed.table.options_of(b), option.saved, peak);
                ++blocks;
                as_good_as_online += time && *time <= option.time();
                better_than_online += time && *time < option.time();
            }
            for (const BlockOption& option : programmed.table.options_of(b).options)
                expect_costs_as_run(part, option);
            fewer +=
                online.table.options_of(b).options.size() < programmed.table.options_of(b).options.size();
        }
    }
    EXPECT_GT(blocks, 30);
    EXPECT_GT(as_good_as_online, blocks * 9 / 10)
        << "at the limits that both were asked for, the programme is optimal";
    EXPECT_GT(fewer + better_than_online, 0);
}

}  // namespace
}  // namespace rematlas::hierarchical
