#include "core/hierarchy/decompose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// Expects that the blocks pass validation, which means that they are a forest that covers every op once.
void expect_covers(const Graph& graph) {
    Graph with_blocks = graph;
    with_blocks.blocks = decompose(graph);
    const Result<void> valid = validate(with_blocks);
    EXPECT_TRUE(valid) << valid.error().message;
    for (BlockId id : with_blocks.blocks.ids()) {
        const BlockId twin = with_blocks.blocks[id].twin;
        if (twin.valid()) {
            EXPECT_EQ(with_blocks.blocks[twin].twin, id);
        }
    }
}

TEST(Decompose, covers_every_op_once_by_every_partition) {
    for (const Partition by :
         {Partition::articulation, Partition::bottom_up, Partition::modules, Partition::repeats}) {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            for (Graph graph : {random_training_graph(seed, {.forward_ops = 3 + 2 * static_cast<int>(seed)}),
                                random_odd_graph(seed, 40), random_chain(seed, 100)}) {
                graph.blocks = decompose(graph, {.by = by, .most_items = 7, .nest_sequences = true});
                const Result<void> valid = validate(graph);
                EXPECT_TRUE(valid) << valid.error().message;
                for (const Block& block : graph.blocks) {
                    EXPECT_LE(block.children.size(), 7u);
                    if (block.twin.valid()) {
                        EXPECT_EQ(graph.blocks[graph.blocks[block.twin].twin].path, block.path);
                    }
                }
            }
        }
    }
}

const Block* block_at(const IdVector<BlockId, Block>& blocks, const std::string& path,
                      const std::string& root) {
    for (BlockId id : blocks.ids()) {
        BlockId top = id;
        while (blocks[top].parent.valid()) top = blocks[top].parent;
        if (blocks[id].path == path && blocks[top].name == root) return &blocks[id];
    }
    return nullptr;
}

TEST(Decompose, covers_every_op_of_random_graphs_once) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        expect_covers(random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed)}));
        expect_covers(random_odd_graph(seed, 40));
        expect_covers(random_chain(seed, 100));
    }
}

/// Returns a graph with `layers` equal layers of three ops with module paths, and their backward ops.
Graph layered(int layers) {
    Graph graph;
    graph.name = "layered";
    TensorId last = graph.tensors.push_back({"x", Bytes(8), TensorKind::input});
    const auto op = [&](const std::string& module, Phase phase, std::int64_t bytes) {
        const TensorId out = graph.tensors.push_back({module, Bytes(bytes), TensorKind::activation});
        Op made;
        made.name = "op";
        made.phase = phase;
        made.module = module;
        made.inputs = {last};
        made.outputs = {out};
        graph.ops.push_back(made);
        last = out;
    };
    for (int i = 0; i < layers; ++i) {
        for (const char* part : {"norm", "attn.qkv", "attn.proj"})
            op("h." + std::to_string(i) + "." + part, Phase::forward, 16);
    }
    op("", Phase::loss, 4);
    for (int i = layers; i-- > 0;) {
        for (const char* part : {"attn.proj", "attn.qkv", "norm"})
            op("h." + std::to_string(i) + "." + part, Phase::backward, 16);
    }
    graph.results = {last};
    return graph;
}

TEST(Decompose, follows_module_paths_with_twins_and_repeats) {
    const Graph graph = layered(12);
    ASSERT_TRUE(validate(graph));
    expect_covers(graph);
    const auto blocks = decompose(graph);
    const Block* third = block_at(blocks, "h.2", "forward");
    const Block* fourth = block_at(blocks, "h.3", "forward");
    ASSERT_TRUE(third && fourth);
    EXPECT_EQ(third->children.size(), 2u);
    EXPECT_GE(third->repeat_class, 0);
    EXPECT_EQ(third->repeat_class, fourth->repeat_class);
    ASSERT_TRUE(third->twin.valid());
    EXPECT_EQ(blocks[third->twin].path, "h.2");
    EXPECT_NE(block_at(blocks, "h.2.attn", "forward")->repeat_class, third->repeat_class);
}

TEST(Decompose, cuts_a_long_chain_without_paths_into_levels) {
    const Graph graph = random_chain(7, 200);
    const auto blocks = decompose(graph);
    for (BlockId id : blocks.ids())
        EXPECT_LE(blocks[id].children.size() + blocks[id].ops.size(), 45u) << blocks[id].path;
    EXPECT_GT(blocks.size(), 20u);
}

std::vector<OpId> ops_below(const IdVector<BlockId, Block>& blocks, BlockId id) {
    std::vector<OpId> ops = blocks[id].ops;
    for (const BlockId child : blocks[id].children)
        for (const OpId op : ops_below(blocks, child)) ops.push_back(op);
    std::sort(ops.begin(), ops.end());
    return ops;
}

TEST(Decompose, calls_a_part_what_its_modules_share_where_that_is_three_letters_or_more) {
    for (const std::string shared : {"a", "ab", "abc", "layer"}) {
        Graph graph = random_chain(7, 100);
        int number = 0;
        for (Op& op : graph.ops)
            if (op.phase == Phase::forward) op.module = shared + "_" + std::to_string(number++);
        const auto blocks = decompose(graph);
        int parts = 0;
        for (const BlockId id : blocks.ids()) {
            const std::vector<OpId> ops = ops_below(blocks, id);
            if (ops.size() < 2 || !blocks[id].parent.valid()) continue;
            if (graph.ops[ops.front()].phase != Phase::forward) continue;
            const std::string ends = graph.ops[ops.front()].module + " .. " + graph.ops[ops.back()].module;
            EXPECT_EQ(blocks[id].name, shared.size() > 2 ? shared : ends);
            ASSERT_TRUE(blocks[id].twin.valid());
            EXPECT_EQ(blocks[blocks[id].twin].name, blocks[id].name);
            ++parts;
        }
        EXPECT_GT(parts, 3);
    }
}

TEST(Decompose, returns_the_blocks_a_graph_has) {
    Graph graph = small_graph();
    graph.blocks.push_back({.name = "all",
                            .path = "all",
                            .parent = {},
                            .children = {},
                            .ops = {OpId(0), OpId(1), OpId(2), OpId(3), OpId(4)},
                            .twin = {},
                            .repeat_class = -1});
    EXPECT_EQ(decompose(graph).size(), 1u);
}

}  // namespace
}  // namespace rematlas
