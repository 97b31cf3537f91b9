// The ladder view of a training graph: blocks that are expanded show what they hold, the others stand for all
// their ops.
//
//     auto blocks = decompose(graph);
//     ExpandedBlocks expanded = expanded_to_depth(blocks, 3);
//     BlockView view = make_block_view(graph, blocks, expanded, &decisions);
//     Result<Layout> layout = layout_by_clusters(layout_request(view, sizes, titles), shapes);
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "viz/layout/layout.h"

namespace rematlas {

/// What a schedule does with a tensor between its first making and its last use.
enum class Decision { keep, recompute, offload };

struct Decisions {
    IdVector<OpId, int> runs;  ///< how often each op runs
    IdVector<TensorId, Decision>
        tensors;  ///< offload when it is ever offloaded, recompute when its op runs again
};

/// Steps that name no op or tensor of the graph are left out.
Decisions decisions_of(const Graph& graph, std::span<const Step> steps);

/// Bytes by decision; without a schedule all are in `kept`.
struct DecisionShares {
    Bytes kept;
    Bytes recomputed;
    Bytes offloaded;

    Bytes total() const { return kept + recomputed + offloaded; }
    Decision largest() const;
    bool operator==(const DecisionShares&) const = default;
};

/// An op (`op` valid) or a collapsed block (`block` valid).
struct BlockViewItem {
    OpId op;
    BlockId block;
    int cluster = -1;   ///< the innermost expanded block around it, index into `BlockView::clusters`
    int twin = -1;      ///< index of the item on the other side of the ladder; -1: none
    std::string label;  ///< short, for the item itself
    std::string path;   ///< full: module path and operator
    Phase phase = Phase::forward;
    int op_count = 1;
    int repeats = 1;      ///< how many blocks of the graph equal this one, itself included
    Nanoseconds time;     ///< of one run of all its ops
    int runs = 0;         ///< runs of its ops in the schedule; 0 without one
    DecisionShares made;  ///< bytes that its ops make
};

/// All tensors that one item makes and the other reads, as one edge.
struct BlockViewEdge {
    int from = -1;
    int to = -1;
    EdgeRole role = EdgeRole::down;
    int tensors = 0;
    DecisionShares bytes;  ///< each tensor once
};

/// An expanded block.
struct BlockViewCluster {
    BlockId block;
    int parent = -1;
    int repeats = 1;
    std::string label;
    std::string path;
    Phase phase = Phase::forward;
    int twin = -1;  ///< index of the cluster on the other side of the ladder; -1: none
};

struct BlockView {
    std::vector<BlockViewItem> items;        ///< in execution order of their first op
    std::vector<BlockViewEdge> edges;        ///< by (from, to), both ascending
    std::vector<BlockViewCluster> clusters;  ///< parents first
    std::vector<LayoutPair> pairs;           ///< items that hold an op and its gradient, ascending
};

using ExpandedBlocks = std::unordered_set<BlockId>;
using Blocks = IdVector<BlockId, Block>;  ///< a forest as `decompose` gives it

/// A block counts as expanded when it or its twin is in `expanded`, and shows when all blocks around it are
/// expanded. Every op is in exactly one item. Cost: near linear in the graph; 20 ms for 10,000 ops.
BlockView make_block_view(const Graph& graph, const Blocks& blocks, const ExpandedBlocks& expanded,
                          const Decisions* decisions = nullptr);

/// Roots are at depth 0: depth 0 expands nothing, depth 1 the roots, and so on.
ExpandedBlocks expanded_to_depth(const Blocks& blocks, int depth);

/// The largest depth at which at most `max_items` items show; at least 1.
int depth_for(const Blocks& blocks, int max_items = 150);

/// Depth of the deepest block, plus 1: `expanded_to_depth` of it shows every op.
int full_depth(const Blocks& blocks);

/// Expands or collapses a block and its twin; collapsing also collapses what is inside.
void expand(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block);
void collapse(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block);

/// `item_sizes` and `title_sizes` have one entry an item and a cluster of the view.
LayoutRequest layout_request(const BlockView& view, std::span<const Size> item_sizes,
                             std::span<const Size> title_sizes);

}  // namespace rematlas
