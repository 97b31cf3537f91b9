// Tests that equal blocks are found to be equal, whatever the ids and the order of their ops, and that
// different blocks are found to be different.
#include "core/solvers/hierarchical/equal_blocks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "core/hierarchy/training_tree.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/shuffled_graph.h"

namespace rematlas::hierarchical {
namespace {

struct Parts {
    explicit Parts(const Graph& graph, Partition by)
        : flat(flatten(graph)), tree(training_tree(graph, flat, {.by = by, .most_items = 40})) {
        for (std::size_t b = 1; b < tree.blocks.size(); ++b) {
            const TrainingBlock& block = tree.blocks[b];
            const std::vector<std::int32_t> forward(tree.forward.begin() + block.begin,
                                                    tree.forward.begin() + block.end);
            parts.push_back(subproblem(flat, tree.rank, forward, block.backward));
        }
    }
    FlatGraph flat;
    TrainingTree tree;
    std::vector<Subproblem> parts;
};

/// Returns all ops of a step as a subproblem: the forward ops first, then all other ops.
Subproblem whole_step(const FlatGraph& flat, const Graph& graph) {
    std::vector<std::int32_t> rank, first, second;
    for (int op = 0; op < flat.op_count; ++op)
        (graph.ops[OpId(op)].phase == Phase::forward ? first : second).push_back(op);
    rank.resize(flat.op_count);
    for (std::size_t i = 0; i < first.size(); ++i) rank[first[i]] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < second.size(); ++i)
        rank[second[i]] = static_cast<std::int32_t>(first.size() + i);
    return subproblem(flat, rank, first, second);
}

/// Checks that ops at the same place are equal in their costs and in the places of the ops that make their
/// inputs.
void expect_same_ops(const Subproblem& a, const CanonicalBlock& of_a, const Subproblem& b,
                     const CanonicalBlock& of_b) {
    const auto place_of = [](const CanonicalBlock& block) {
        std::vector<int> place(block.ops.size());
        for (std::size_t i = 0; i < place.size(); ++i) place[block.ops[i]] = static_cast<int>(i);
        return place;
    };
    const std::vector<int> place_a = place_of(of_a), place_b = place_of(of_b);
    const auto inputs = [](const FlatGraph& flat, int op, const std::vector<int>& place) {
        std::multiset<std::pair<int, std::int64_t>> made;
        for (const int t : flat.inputs[op]) made.emplace(place[flat.producer[t]], flat.bytes[t]);
        return made;
    };
    ASSERT_EQ(of_a.ops.size(), of_b.ops.size());
    for (std::size_t i = 0; i < of_a.ops.size(); ++i) {
        const int x = of_a.ops[i], y = of_b.ops[i];
        EXPECT_EQ(a.flat.workspace[x], b.flat.workspace[y]);
        EXPECT_EQ(a.flat.recomputable[x], b.flat.recomputable[y]);
        EXPECT_EQ(inputs(a.flat, x, place_a), inputs(b.flat, y, place_b));
    }
}

TEST(EqualBlocks, AreFoundWhateverTheIdsAndTheOrder) {
    int equal = 0;
    constexpr int kGraphs = 300;
    for (std::uint64_t seed = 1; seed <= kGraphs; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 20)});
        const Graph other = shuffled(graph, seed);
        const FlatGraph flat = flatten(graph), flat_other = flatten(other);
        const Subproblem a = whole_step(flat, graph), b = whole_step(flat_other, other);
        const CanonicalBlock of_a = canonical(a), of_b = canonical(b);
        equal += of_a.structure == of_b.structure;
        if (of_a.structure == of_b.structure) expect_same_ops(a, of_a, b, of_b);
    }
    EXPECT_GE(equal, kGraphs * 98 / 100);
}

TEST(EqualBlocks, AreNotEqualWhereOneNumberDiffers) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 6});
        const FlatGraph flat = flatten(graph);
        const Subproblem block = whole_step(flat, graph);
        const std::string structure = canonical(block).structure;
        const auto op = static_cast<std::size_t>(seed % flat.op_count);
        const auto tensor = static_cast<std::size_t>(seed % block.flat.tensor_count);
        Subproblem other = block;
        other.flat.bytes[tensor] += 1;
        EXPECT_NE(canonical(other).structure, structure);
        other = block;
        other.flat.workspace[op] += 1;
        EXPECT_NE(canonical(other).structure, structure);
        other = block;
        other.flat.recomputable[op] ^= 1;
        EXPECT_NE(canonical(other).structure, structure);
        other = block;
        other.flat.is_result[tensor] ^= 1;
        EXPECT_NE(canonical(other).structure, structure);
        other = block;
        other.flat.time[op] += 1;
        EXPECT_EQ(canonical(other).structure, structure);
    }
}

std::vector<int> classes_of(const Parts& parts, double tolerance) {
    EqualBlocks equal(tolerance);
    std::vector<int> classes;
    for (const Subproblem& part : parts.parts) classes.push_back(equal.class_of(canonical(part)));
    return classes;
}

TEST(EqualBlocks, AreTheLayersOfAGptWhateverTheIdsAndTheOrder) {
    const Graph graph = gpt_graph({.layers = 8, .batch = 1, .sequence = 64, .width = 32, .heads = 2});
    const Parts plain(graph, Partition::articulation), other(shuffled(graph, 7), Partition::articulation);
    const std::vector<int> classes = classes_of(plain, 0);
    EXPECT_LT(std::set<int>(classes.begin(), classes.end()).size(), classes.size() / 3);
    EXPECT_EQ(classes_of(other, 0), classes);
}

TEST(EqualBlocks, HaveTimesWithinTheTolerance) {
    const Graph graph = gpt_graph({.layers = 1, .batch = 1, .sequence = 64, .width = 32, .heads = 2});
    const FlatGraph flat = flatten(graph);
    CanonicalBlock block = canonical(whole_step(flat, graph));
    EqualBlocks equal(0.02);
    const int first = equal.class_of(block);
    const std::int64_t all = std::accumulate(block.times.begin(), block.times.end(), std::int64_t{0});
    block.times[3] += all / 60;
    EXPECT_EQ(equal.class_of(block), first);
    block.times[4] += all / 60;
    const int second = equal.class_of(block);
    EXPECT_NE(second, first);
    EXPECT_EQ(equal.class_of(block), second);
}

}  // namespace
}  // namespace rematlas::hierarchical
