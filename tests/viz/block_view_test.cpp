#include "viz/block_view/block_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/flat_graph.h"
#include "core/hierarchy/decompose.h"
#include "core/schedule/run_sequence.h"
#include "tests/viz/layered_graph.h"
#include "viz/block_view/scattered_blocks.h"

namespace rematlas {
namespace {

class BlockViewOfLayers : public testing::TestWithParam<int> {
  protected:
    Graph graph = LayeredGraph::make(6);
    Blocks blocks = decompose(graph);
    BlockView at_depth(int depth) const {
        return make_block_view(graph, blocks, expanded_to_depth(blocks, depth));
    }
};

/// Returns all ops of a block, including those inside its children.
std::set<OpId> ops_of(const Blocks& blocks, BlockId b) {
    std::set<OpId> ops(blocks[b].ops.begin(), blocks[b].ops.end());
    for (BlockId child : blocks[b].children) ops.merge(ops_of(blocks, child));
    return ops;
}

/// Returns the index of the item of each op, read from the blocks and ops that the items represent.
std::map<OpId, int> items_by_op(const Blocks& blocks, const BlockView& view) {
    std::map<OpId, int> found;
    for (std::size_t i = 0; i < view.items.size(); ++i) {
        std::set<OpId> ops;
        std::vector<BlockId> shown = view.items[i].run;
        if (shown.empty() && view.items[i].block.valid()) shown.push_back(view.items[i].block);
        for (BlockId b : shown) ops.merge(ops_of(blocks, b));
        if (shown.empty()) ops = {view.items[i].op};
        EXPECT_EQ(static_cast<int>(ops.size()), view.items[i].op_count);
        for (OpId op : ops)
            EXPECT_TRUE(found.emplace(op, static_cast<int>(i)).second)
                << "op " << op.value << " is in two items";
    }
    return found;
}

TEST_P(BlockViewOfLayers, EveryOpIsInExactlyOneItem) {
    EXPECT_EQ(items_by_op(blocks, at_depth(GetParam())).size(), graph.ops.size());
}

TEST_P(BlockViewOfLayers, SumsOverItemsAreThoseOfTheGraph) {
    BlockView view = at_depth(GetParam());
    Nanoseconds time, expected_time;
    Bytes made, expected_made;
    for (const BlockViewItem& item : view.items) {
        time += item.time;
        made += item.made.total();
    }
    for (const Op& op : graph.ops) {
        expected_time += op.time;
        for (TensorId t : op.outputs) expected_made += graph.tensors[t].bytes;
    }
    EXPECT_EQ(time, expected_time);
    EXPECT_EQ(made, expected_made);
}

TEST_P(BlockViewOfLayers, AnEdgeCountsEachTensorBetweenItsItemsOnce) {
    BlockView view = at_depth(GetParam());
    std::map<OpId, int> item_of = items_by_op(blocks, view);
    std::map<std::pair<int, int>, std::set<TensorId>> expected;
    IdVector<TensorId, OpId> made_by = producers(graph);
    for (OpId op : graph.ops.ids())
        for (TensorId t : graph.ops[op].inputs)
            if (made_by[t].valid() && item_of[made_by[t]] != item_of[op])
                expected[{item_of[made_by[t]], item_of[op]}].insert(t);
    ASSERT_EQ(view.edges.size(), expected.size());
    for (const BlockViewEdge& edge : view.edges) {
        const auto& tensors = expected[{edge.from, edge.to}];
        Bytes bytes;
        for (TensorId t : tensors) bytes += graph.tensors[t].bytes;
        EXPECT_EQ(edge.tensors, static_cast<int>(tensors.size()));
        EXPECT_EQ(edge.bytes.total(), bytes);
    }
}

TEST_P(BlockViewOfLayers, EdgesHaveTheRoleOfTheirPhases) {
    BlockView view = at_depth(GetParam());
    for (const BlockViewEdge& edge : view.edges) {
        bool from_backward = view.items[edge.from].phase == Phase::backward,
             to_backward = view.items[edge.to].phase == Phase::backward;
        EdgeRole expected = from_backward ? EdgeRole::up : to_backward ? EdgeRole::rung : EdgeRole::down;
        EXPECT_EQ(edge.role, expected);
    }
}

TEST_P(BlockViewOfLayers, TwinsPointAtEachOther) {
    BlockView view = at_depth(GetParam());
    int twins = 0;
    for (std::size_t i = 0; i < view.items.size(); ++i) {
        int twin = view.items[i].twin;
        if (twin < 0) continue;
        ++twins;
        EXPECT_EQ(view.items[twin].twin, static_cast<int>(i));
        EXPECT_NE(view.items[twin].phase == Phase::backward, view.items[i].phase == Phase::backward);
    }
    EXPECT_EQ(twins, static_cast<int>(view.items.size()) - 1) << "all but the loss";
}

TEST_P(BlockViewOfLayers, ItemsComeInOrderAndClustersAfterTheirParents) {
    BlockView view = at_depth(GetParam());
    std::map<OpId, int> item_of = items_by_op(blocks, view);
    int highest = -1;
    for (auto [op, item] : item_of) {
        EXPECT_LE(item, highest + 1);
        highest = std::max(highest, item);
    }
    for (std::size_t i = 0; i < view.clusters.size(); ++i)
        EXPECT_LT(view.clusters[i].parent, static_cast<int>(i));
}

INSTANTIATE_TEST_SUITE_P(Depths, BlockViewOfLayers, testing::Range(0, 6));

using BlockViewTest = BlockViewOfLayers;

BlockId block_with_path(const Blocks& blocks, const std::string& path) {
    for (BlockId b : blocks.ids())
        if (blocks[b].path == path) return b;
    return BlockId();
}

TEST_F(BlockViewTest, ExpandingABlockExpandsItsTwin) {
    ExpandedBlocks expanded = expanded_to_depth(blocks, 2);
    BlockView before = make_block_view(graph, blocks, expanded);
    const auto item = std::find_if(before.items.begin(), before.items.end(), [](const BlockViewItem& i) {
        return i.block.valid() && i.op_count > 1 && i.twin >= 0;
    });
    ASSERT_NE(item, before.items.end());
    BlockId block = item->block, twin = before.items[item->twin].block;
    expanded.insert(block);  // the twin is expanded too, although it is not inserted
    BlockView after = make_block_view(graph, blocks, expanded);
    auto is_frame = [&](BlockId b) {
        return std::any_of(after.clusters.begin(), after.clusters.end(),
                           [&](const BlockViewCluster& c) { return c.block == b; });
    };
    EXPECT_TRUE(is_frame(block));
    EXPECT_TRUE(is_frame(twin));

    collapse(blocks, expanded, twin);
    EXPECT_EQ(make_block_view(graph, blocks, expanded).items.size(), before.items.size());
}

TEST_F(BlockViewTest, CollapsingForgetsWhatWasExpandedInside) {
    ExpandedBlocks expanded = expanded_to_depth(blocks, full_depth(blocks));
    for (BlockId b : blocks.ids())
        if (!blocks[b].parent.valid()) collapse(blocks, expanded, b);
    EXPECT_TRUE(expanded.empty());
}

TEST_F(BlockViewTest, FullDepthShowsEveryOpAlone) {
    BlockView view = at_depth(full_depth(blocks));
    EXPECT_EQ(view.items.size(), graph.ops.size());
    for (const BlockViewItem& item : view.items) EXPECT_TRUE(item.op.valid());
}

TEST_F(BlockViewTest, DepthIsChosenByTheNumberOfItems) {
    for (int most : {10, 30, 150}) {
        int depth = depth_for(blocks, most);
        EXPECT_TRUE(depth == 1 || at_depth(depth).items.size() <= static_cast<std::size_t>(most));
        EXPECT_TRUE(depth == full_depth(blocks) ||
                    at_depth(depth + 1).items.size() > static_cast<std::size_t>(most));
    }
}

TEST_F(BlockViewTest, EqualLayersAreCounted) {
    BlockId layer = block_with_path(blocks, "h.2");
    ASSERT_TRUE(layer.valid());
    ExpandedBlocks expanded;
    for (BlockId b = blocks[layer].parent; b.valid(); b = blocks[b].parent) expand(blocks, expanded, b);
    expanded.unfolded.insert(runs_of(blocks).first[layer]);
    BlockView view = make_block_view(graph, blocks, expanded);
    const auto item = std::find_if(view.items.begin(), view.items.end(),
                                   [&](const BlockViewItem& i) { return i.block == layer; });
    ASSERT_NE(item, view.items.end());
    EXPECT_EQ(item->repeats, 6);
    EXPECT_EQ(item->label, "h.2") << "a number alone names nothing";
}

/// Returns the item that represents all layers, in the forward or the backward phase.
const BlockViewItem* run_item(const BlockView& view, Phase phase) {
    for (const BlockViewItem& item : view.items)
        if (!item.run.empty() && item.phase == phase) return &item;
    return nullptr;
}

class FoldedRuns : public BlockViewOfLayers {
  protected:
    FoldedRuns() {
        expanded = expanded_to_depth(blocks, blocks[blocks[layer(0)].parent].parent.valid() ? 2 : 1);
    }
    BlockId layer(int i) const { return block_with_path(blocks, "h." + std::to_string(i)); }
    BlockView view() const { return make_block_view(graph, blocks, expanded); }

    ExpandedBlocks expanded;
};

TEST_F(FoldedRuns, EqualSiblingsAreOneItemOnBothSides) {
    const BlockView folded = view();
    const BlockViewItem *forward = run_item(folded, Phase::forward),
                        *backward = run_item(folded, Phase::backward);
    ASSERT_TRUE(forward && backward);
    ASSERT_EQ(forward->run.size(), 6u);
    EXPECT_EQ(forward->label, "h.0-5");
    EXPECT_EQ(forward->op_count, 24);
    EXPECT_EQ(backward->run.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(forward->run[i], layer(static_cast<int>(i)));
        EXPECT_EQ(backward->run[i], blocks[forward->run[i]].twin);
    }
    EXPECT_EQ(&folded.items[forward->twin], backward);
    EXPECT_EQ(&folded.items[backward->twin], forward);
}

TEST_F(FoldedRuns, UnfoldedTheyShowTheirBlocks) {
    expanded.unfolded.insert(layer(0));
    const BlockView shown = view();
    EXPECT_EQ(run_item(shown, Phase::forward), nullptr);
    EXPECT_EQ(run_item(shown, Phase::backward), nullptr);
    int layers = 0;
    for (const BlockViewItem& item : shown.items)
        for (int i = 0; i < 6; ++i) layers += item.block == layer(i);
    EXPECT_EQ(layers, 6);
}

TEST_F(FoldedRuns, AnExpandedBlockPartsThem) {
    expand(blocks, expanded, layer(2));
    const BlockView parted = view();
    const BlockViewItem* after = run_item(parted, Phase::forward);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->run, (std::vector<BlockId>{layer(3), layer(4), layer(5)}));
    EXPECT_GE(parted.cluster_of[layer(2)], 0);
    int alone = 0;  // a folded run needs three equal blocks in a row, so these two layers are single items
    for (const BlockViewItem& item : parted.items)
        alone += item.run.empty() && (item.block == layer(0) || item.block == layer(1));
    EXPECT_EQ(alone, 2);
}

TEST_F(FoldedRuns, DecisionsOfAllTheirBlocksAreSummed) {
    FlatGraph flat = flatten(graph);
    std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    const std::set<OpId> third = ops_of(blocks, layer(3));
    for (OpId op : third) steps.push_back(Step::run(op));
    const Decisions decisions = decisions_of(graph, steps);
    const BlockView shown = make_block_view(graph, blocks, expanded, &decisions);
    const BlockViewItem* forward = run_item(shown, Phase::forward);
    ASSERT_TRUE(forward);
    EXPECT_EQ(forward->made.recomputed, Bytes(static_cast<std::int64_t>(third.size()) << 20));
    EXPECT_EQ(forward->made.kept, Bytes(static_cast<std::int64_t>(24 - third.size()) << 20));
    EXPECT_EQ(forward->runs, 24 + static_cast<int>(third.size()));
}

TEST_F(FoldedRuns, CollapsingWhatIsAroundFoldsThemAgain) {
    expanded.unfolded.insert(layer(0));
    const BlockId around = blocks[layer(0)].parent;
    collapse(blocks, expanded, around);
    expand(blocks, expanded, around);
    EXPECT_NE(run_item(view(), Phase::forward), nullptr);
}

TEST_F(FoldedRuns, DifferentBlocksAreNot) {
    Graph changed = graph;
    for (OpId op : ops_of(blocks, layer(3)))
        for (TensorId t : changed.ops[op].outputs) changed.tensors[t].bytes = Bytes(5 << 20);
    const Blocks other = decompose(changed);
    const BlockView shown = make_block_view(changed, other, expanded);
    const BlockViewItem* first = run_item(shown, Phase::forward);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->run.size(), 3u) << "the layers before the one that differs";
    EXPECT_EQ(first->label, "h.0-2");
}

TEST_F(BlockViewTest, SharesFollowTheSchedule) {
    FlatGraph flat = flatten(graph);
    std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    OpId again(1);
    TensorId copied = graph.ops[OpId(3)].outputs.front();
    steps.push_back(Step::run(again));
    steps.push_back(Step::offload(copied));
    Decisions decisions = decisions_of(graph, steps);
    EXPECT_EQ(decisions.runs[again], 2);
    EXPECT_EQ(decisions.tensors[graph.ops[again].outputs.front()], Decision::recompute);
    EXPECT_EQ(decisions.tensors[copied], Decision::offload);

    BlockView view = make_block_view(graph, blocks, expanded_to_depth(blocks, 0), &decisions);
    DecisionShares forward = view.items.front().made;
    EXPECT_EQ(forward.recomputed, Bytes(1 << 20));
    EXPECT_EQ(forward.offloaded, Bytes(1 << 20));
    EXPECT_EQ(forward.kept, Bytes(23 << 20));
    EXPECT_EQ(forward.largest(), Decision::keep);
    EXPECT_EQ(view.items.front().runs, 26);
}

TEST_F(BlockViewTest, StepsThatNameNothingAreLeftOut) {
    std::vector<Step> steps{Step::run(OpId(100'000)), Step::offload(TensorId(100'000)), Step::run(OpId(-1))};
    Decisions decisions = decisions_of(graph, steps);
    EXPECT_TRUE(
        std::all_of(decisions.runs.begin(), decisions.runs.end(), [](int runs) { return runs == 0; }));
}

TEST_F(BlockViewTest, OpsThatNoBlockHoldsAreShown) {
    BlockView view = make_block_view(graph, Blocks(), {});
    EXPECT_EQ(view.items.size(), graph.ops.size());
    EXPECT_TRUE(view.clusters.empty());
}

TEST_F(BlockViewTest, AnEmptyGraphHasAnEmptyView) {
    BlockView view = make_block_view(Graph(), Blocks(), {});
    EXPECT_TRUE(view.items.empty());
    EXPECT_TRUE(view.edges.empty());
}

TEST_F(BlockViewTest, TheRequestHoldsPairsLevelAndLeavesOtherRungsFree) {
    BlockView view = at_depth(full_depth(blocks));
    std::vector<Size> items(view.items.size(), Size{80, 30}), titles(view.clusters.size(), Size{40, 12});
    LayoutRequest request = layout_request(view, items, titles);
    ASSERT_EQ(request.edges.size(), view.edges.size());
    std::set<std::pair<int, int>> level;
    for (const LayoutPair& pair : request.pairs) level.emplace(pair.left, pair.right);
    for (const LayoutEdge& edge : request.edges)
        if (edge.role == EdgeRole::rung) level.emplace(edge.from, edge.to);
    for (const LayoutPair& pair : view.pairs) EXPECT_TRUE(level.contains({pair.left, pair.right}));
    for (const LayoutEdge& edge : request.edges) {
        if (edge.role != EdgeRole::free) continue;
        EXPECT_EQ(view.items[edge.to].phase, Phase::backward);
        EXPECT_FALSE(level.contains({edge.from, edge.to}));
    }
}

/// Makes a graph with two lists of modules that alternate: a.0, b.0, a.1, b.1, and their gradients.
Graph taking_turns() {
    Graph graph = LayeredGraph::make(4);
    for (Op& op : graph.ops) {
        const std::size_t dot = op.module.find('.');
        if (!op.module.starts_with("h.")) continue;
        const int layer = op.module[dot + 1] - '0';
        op.module =
            std::string(layer % 2 ? "b." : "a.") + std::to_string(layer / 2) + op.module.substr(dot + 2);
    }
    return graph;
}

TEST(ScatteredBlocks, ListsThatTakeTurnsShowTheirModulesWhereDataFlows) {
    const Graph graph = taking_turns();
    const Blocks blocks = decompose(graph);
    const IdVector<BlockId, char> scattered = scattered_blocks(graph, blocks);
    EXPECT_TRUE(scattered[block_with_path(blocks, "a")]);
    EXPECT_TRUE(scattered[block_with_path(blocks, "b")]);
    EXPECT_FALSE(scattered[block_with_path(blocks, "a.0")]) << "its ops are in a row";
    const BlockView view = make_block_view(graph, blocks, expanded_to_depth(blocks, 1));
    std::vector<std::string> shown;
    for (const BlockViewItem& item : view.items)
        if (item.phase == Phase::forward) shown.push_back(item.path);
    EXPECT_EQ(shown, (std::vector<std::string>{"embed aten::embedding", "a.0", "b.0", "a.1", "b.1"}));
    std::set<std::pair<int, int>> arrows;
    for (const BlockViewEdge& edge : view.edges) arrows.insert({edge.from, edge.to});
    for (const auto& [from, to] : arrows) EXPECT_FALSE(arrows.contains({to, from})) << "an arrow both ways";
    EXPECT_EQ(items_by_op(blocks, view).size(), graph.ops.size());
}

TEST(ScatteredBlocks, AListWhoseModulesFollowEachOtherIsABlock) {
    const Graph graph = LayeredGraph::make(4);
    const Blocks blocks = decompose(graph);
    for (const char scattered : scattered_blocks(graph, blocks)) EXPECT_FALSE(scattered);
}

TEST(BlockViewEdges, NewValuesOfABufferAreNoArrowIntoTheLoss) {
    Graph graph;
    const auto tensor = [&](TensorKind kind) { return graph.tensors.push_back({"", Bytes(4), kind}); };
    const TensorId buffer = tensor(TensorKind::buffer), made = tensor(TensorKind::activation),
                   state = tensor(TensorKind::activation), loss = tensor(TensorKind::activation);
    const auto op = [&](const char* name, Phase phase, std::vector<TensorId> inputs, TensorId output) {
        Op added;
        added.name = name;
        added.phase = phase;
        added.inputs = std::move(inputs);
        added.outputs = {output};
        return graph.ops.push_back(added);
    };
    const OpId first = op("aten::relu", Phase::forward, {buffer}, made);
    const OpId update = op("aten::copy_", Phase::forward, {buffer, made}, state);
    const OpId last = op("aten::loss", Phase::loss, {made, state}, loss);
    graph.results = {state, loss};
    const Blocks blocks = decompose(graph);
    const BlockView view = make_block_view(graph, blocks, expanded_to_depth(blocks, full_depth(blocks)));
    std::set<std::pair<int, int>> arrows;
    for (const BlockViewEdge& edge : view.edges) arrows.insert({edge.from, edge.to});
    EXPECT_EQ(arrows, (std::set<std::pair<int, int>>{{view.item_of[first], view.item_of[update]},
                                                     {view.item_of[first], view.item_of[last]}}));
}

}  // namespace
}  // namespace rematlas
