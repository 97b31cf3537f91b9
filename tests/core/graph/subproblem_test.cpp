#include "core/graph/subproblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/hierarchy/training_tree.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// Returns the tensors that are alive during the run at index `at`.
std::set<int> alive_during(const FlatGraph& flat, const RunSequence& runs, std::size_t at) {
    std::set<int> alive;
    for (int t = 0; t < flat.tensor_count; ++t) {
        if (flat.producer[t] < 0) continue;
        bool made = false, read_next = flat.is_result[t];
        for (std::size_t i = 0; i <= at; ++i) made = made || runs[i] == flat.producer[t];
        for (std::size_t i = runs.size(); i-- > at;) {
            const auto inputs = flat.inputs[runs[i]];
            if (runs[i] == flat.producer[t]) read_next = i == at;
            if (std::find(inputs.begin(), inputs.end(), t) != inputs.end()) read_next = true;
        }
        if (made && read_next) alive.insert(t);
    }
    return alive;
}

std::vector<std::int32_t> forward_of(const TrainingTree& tree, const TrainingBlock& block) {
    return {tree.forward.begin() + block.begin, tree.forward.begin() + block.end};
}

// The step runs all forward ops, then the blocks' backward ops in reverse order. During an op of a block, the
// memory of the step must be the memory of the block's subproblem plus the tensors of other blocks.
TEST(Subproblem, TakesWhatItsOpsTakeInTheWholeStep) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 8, .inplace = false});
        const FlatGraph flat = flatten(graph);
        const TrainingTree tree = training_tree(graph, flat, {.most_items = 3});
        RunSequence runs = tree.forward;
        const auto& children = tree.blocks.front().children;
        for (std::size_t i = children.size(); i-- > 0;)
            for (const int op : tree.blocks[children[i]].backward) runs.push_back(op);
        ASSERT_TRUE(is_executable(flat, runs));
        const std::vector<std::int64_t> memory = memory_of(flat, runs);
        for (const int child : children) {
            const TrainingBlock& block = tree.blocks[child];
            const Subproblem part = subproblem(flat, tree.rank, forward_of(tree, block), block.backward);
            const RunSequence once = keep_all_sequence(part.flat);
            ASSERT_TRUE(is_executable(part.flat, once));
            const std::vector<std::int64_t> own = memory_of(part.flat, once);
            const std::set<int> mine(part.tensor_of.begin(), part.tensor_of.end());
            for (std::size_t i = 0; i < once.size(); ++i) {
                const int op = part.op_of[once[i]];
                if (op < 0) continue;
                const std::size_t at = std::find(runs.begin(), runs.end(), op) - runs.begin();
                std::int64_t beside = flat.resident_bytes;
                for (const int t : alive_during(flat, runs, at))
                    beside += mine.contains(t) ? 0 : flat.bytes[t];
                EXPECT_EQ(memory[at], own[i] + beside) << graph.name << " block " << child << " op " << op;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 1000);
}

TEST(Subproblem, SaysWhatPassesItsBoundary) {
    const Graph graph = small_graph();  // x -> a -> b -> loss; the backward of `b` reads `a` and `b`
    const FlatGraph flat = flatten(graph);
    const std::vector<std::int32_t> first{1}, second{2, 3};  // `b`; the loss and the backward of `b`
    const Subproblem part = subproblem(flat, keep_all_sequence(flat), first, second);
    EXPECT_EQ(part.op_of, (std::vector<std::int32_t>{1, -1, 2, 3}));
    EXPECT_EQ(part.given, std::vector<std::int32_t>{1});  // `a`
    EXPECT_TRUE(part.passed_on.empty());                  // only the second part reads `b`
    EXPECT_TRUE(part.received.empty());
    ASSERT_EQ(part.left.size(), 1u);
    EXPECT_EQ(part.tensor_of[part.left.front()], 4);  // the gradient of `a`
    EXPECT_EQ(part.flat.workspace[0], 7);
    EXPECT_EQ(part.flat.resident_bytes, 0);
    const std::vector<std::int64_t> memory = memory_of(part.flat, keep_all_sequence(part.flat));
    EXPECT_EQ(memory, (std::vector<std::int64_t>{107, 100, 200, 300}));
}

TEST(Subproblem, OfOnePartHoldsWhatOthersRead) {
    const Graph graph = small_graph();
    const FlatGraph flat = flatten(graph);
    const std::vector<std::int32_t> ops{0, 1};
    const Subproblem part = subproblem(flat, keep_all_sequence(flat), ops);
    EXPECT_EQ(part.outside, -1);
    EXPECT_EQ(part.passed_on.size(), 2u);
    EXPECT_EQ(part.flat.results.size(), 2u);
    EXPECT_EQ(memory_of(part.flat, keep_all_sequence(part.flat)), (std::vector<std::int64_t>{100, 207}));
}

}  // namespace
}  // namespace rematlas
