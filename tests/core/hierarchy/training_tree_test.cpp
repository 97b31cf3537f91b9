#include "core/hierarchy/training_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

constexpr Partition kAll[] = {Partition::articulation, Partition::bottom_up, Partition::modules,
                              Partition::repeats};

std::vector<Graph> graphs() {
    std::vector<Graph> all{gpt_graph({.layers = 4, .batch = 1, .sequence = 16, .width = 8, .heads = 2})};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        all.push_back(random_training_graph(seed, {.forward_ops = 3 * static_cast<int>(seed)}));
        all.push_back(random_odd_graph(seed, 30));
        all.push_back(random_chain(seed, 40));
    }
    return all;
}

/// Returns the forward ops in order, and then the backward ops of all blocks without children. The last block
/// comes first.
RunSequence nested_order(const TrainingTree& tree) {
    RunSequence runs = tree.forward;
    for (std::size_t b = tree.blocks.size(); b-- > 0;)
        if (tree.blocks[b].children.empty())
            runs.insert(runs.end(), tree.blocks[b].backward.begin(), tree.blocks[b].backward.end());
    return runs;
}

TEST(TrainingTree, PlacesEveryRequiredOpOnceInAnExecutableOrder) {
    for (const Graph& graph : graphs()) {
        const FlatGraph flat = flatten(graph);
        for (const Partition by : kAll) {
            const TrainingTree tree = training_tree(graph, flat, {.by = by, .most_items = 6});
            const RunSequence runs = nested_order(tree);
            const auto required = std::count(flat.required.begin(), flat.required.end(), 1);
            EXPECT_EQ(static_cast<std::ptrdiff_t>(runs.size()), required) << graph.name;
            EXPECT_TRUE(is_executable(flat, runs)) << graph.name << " " << to_string(by);
        }
    }
}

TEST(TrainingTree, BlocksAreMadeUpOfTheirChildren) {
    for (const Graph& graph : graphs()) {
        const FlatGraph flat = flatten(graph);
        for (const Partition by : kAll) {
            const TrainingTree tree = training_tree(graph, flat, {.by = by, .most_items = 6});
            for (std::size_t b = 0; b < tree.blocks.size(); ++b) {
                const TrainingBlock& block = tree.blocks[b];
                EXPECT_EQ(b == 0, block.parent < 0);
                if (block.children.empty()) {
                    EXPECT_LE(block.end - block.begin, 6) << graph.name << " " << to_string(by);
                    continue;
                }
                if (by != Partition::articulation) {
                    EXPECT_LE(block.children.size(), 6u) << graph.name;
                }
                int at = block.begin;
                std::vector<std::int32_t> backward;
                for (const int child : block.children) {
                    EXPECT_EQ(tree.blocks[child].begin, at);
                    EXPECT_EQ(tree.blocks[child].parent, static_cast<int>(b));
                    at = tree.blocks[child].end;
                    const auto& theirs = tree.blocks[child].backward;
                    backward.insert(backward.end(), theirs.begin(), theirs.end());
                }
                EXPECT_EQ(at, block.end);
                EXPECT_THAT(block.backward, testing::UnorderedElementsAreArray(backward));
            }
        }
    }
}

TEST(TrainingTree, ArticulationCutsWhereOneTensorIsReadAcross) {
    const Graph graph = random_chain(3, 12, true);
    const FlatGraph flat = flatten(graph);
    const TrainingTree tree = training_tree(graph, flat, {.by = Partition::articulation});
    EXPECT_EQ(tree.blocks.front().children.size(), 12u);
    for (const int child : tree.blocks.front().children) {
        const TrainingBlock& block = tree.blocks[child];
        ASSERT_EQ(block.end, block.begin + 1);
        const int own = tree.forward[block.begin];
        // The block's backward ops read the input or the output of its op, and no other forward tensor.
        for (const int op : block.backward) {
            for (const int t : flat.inputs[op]) {
                const auto users = flat.users[t];
                const bool is_forward = graph.ops[OpId(flat.producer[t])].phase == Phase::forward;
                EXPECT_TRUE(!is_forward || flat.producer[t] == own ||
                            std::find(users.begin(), users.end(), own) != users.end());
            }
        }
    }
}

/// Returns the forward positions after which a block ends, by the definition: at most one tensor crosses, and
/// no tensor is the boundary of two cuts in a row.
std::vector<int> articulations(const FlatGraph& flat, const TrainingTree& tree) {
    const int count = static_cast<int>(tree.forward.size());
    std::vector<int> place(flat.op_count, count), ends;
    for (int i = 0; i < count; ++i) place[tree.forward[i]] = i;
    int boundary = -1;
    for (int i = 0; i < count; ++i) {
        std::vector<int> across;
        for (int t = 0; t < flat.tensor_count; ++t) {
            if (flat.producer[t] < 0 || place[flat.producer[t]] > i) continue;
            const auto users = flat.users[t];
            if (std::any_of(users.begin(), users.end(),
                            [&](int op) { return place[op] > i && place[op] < count; }))
                across.push_back(t);
        }
        if (i + 1 < count && (across.size() > 1 || (across.size() == 1 && across.front() == boundary)))
            continue;
        boundary = across.size() == 1 ? across.front() : -1;
        ends.push_back(i + 1);
    }
    return ends;
}

TEST(TrainingTree, ArticulationCutsOfAnyGraphAreThoseOfTheDefinition) {
    int sequences = 0;
    for (const Graph& graph : graphs()) {
        const FlatGraph flat = flatten(graph);
        const TrainingTree tree =
            training_tree(graph, flat, {.by = Partition::articulation, .most_items = 6});
        const std::vector<int> expected = articulations(flat, tree);
        if (expected.size() < 2) continue;
        ++sequences;
        std::vector<int> ends;
        for (const int child : tree.blocks.front().children) ends.push_back(tree.blocks[child].end);
        EXPECT_EQ(ends, expected) << graph.name;
        const TrainingTree nested = training_tree(
            graph, flat, {.by = Partition::articulation, .most_items = 6, .nest_sequences = true});
        for (const TrainingBlock& block : nested.blocks) EXPECT_LE(block.children.size(), 6u) << graph.name;
    }
    EXPECT_GT(sequences, 20);
}

TEST(TrainingTree, RepeatsAreBlocksOfEqualLength) {
    const Graph graph = gpt_graph({.layers = 8, .batch = 1, .sequence = 16, .width = 8, .heads = 2});
    const FlatGraph flat = flatten(graph);
    const TrainingTree tree = training_tree(graph, flat, {.by = Partition::repeats, .most_items = 40});
    std::map<int, int> lengths;
    for (const TrainingBlock& block : tree.blocks) ++lengths[block.end - block.begin];
    const auto layers =
        std::find_if(lengths.begin(), lengths.end(), [](const auto& l) { return l.second == 8; });
    ASSERT_NE(layers, lengths.end());
    EXPECT_GT(layers->first * 8, static_cast<int>(tree.forward.size()) * 3 / 4);
}

TEST(TrainingTree, ModulesStayTogether) {
    const Graph graph = gpt_graph({.layers = 6, .batch = 1, .sequence = 16, .width = 8, .heads = 2});
    const FlatGraph flat = flatten(graph);
    const TrainingTree tree = training_tree(graph, flat, {.by = Partition::modules, .most_items = 40});
    const auto in_layer = [&](int at, int layer) {
        return graph.ops[OpId(tree.forward[at])].module.starts_with("h." + std::to_string(layer));
    };
    for (int layer = 0; layer < 6; ++layer) {
        const int count = static_cast<int>(tree.forward.size());
        int begin = 0;
        while (begin < count && !in_layer(begin, layer)) ++begin;
        int end = begin;
        while (end < count && in_layer(end, layer)) ++end;
        EXPECT_TRUE(std::any_of(tree.blocks.begin(), tree.blocks.end(), [&](const TrainingBlock& block) {
            return block.begin == begin && block.end == end;
        })) << layer;
    }
}

}  // namespace
}  // namespace rematlas
