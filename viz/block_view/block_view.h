// The ladder view of a training graph. Expanded blocks show their content, and every other block stands for
// all of its ops.
//
//     auto blocks = decompose(graph);
//     ExpandedBlocks expanded = expanded_to_depth(blocks, 3);
//     BlockView view = make_block_view(graph, blocks, expanded, &decisions);
//     Result<Layout> layout = layout_by_clusters(layout_request(view, sizes, titles), shapes);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "viz/block_view/expanded_blocks.h"
#include "viz/layout/layout.h"

namespace rematlas {

/// What a schedule does with a tensor between its first making and its last use.
enum class Decision { keep, recompute, offload };

struct Decisions {
    IdVector<OpId, int> runs;              ///< how often each op runs
    IdVector<TensorId, Decision> tensors;  ///< offload if ever offloaded, else recompute if its op runs again
};

/// The decisions of a schedule. Steps that name no op or tensor of the graph are left out.
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

/// An op (`op` valid), a collapsed block (`block` valid) or a run of equal blocks.
struct BlockViewItem {
    OpId op;
    BlockId block;             ///< of a run, the first block
    std::vector<BlockId> run;  ///< all blocks of a run, from the input of the network on; empty: no run
    int cluster = -1;          ///< the innermost expanded block around it, index into `BlockView::clusters`
    int twin = -1;             ///< index of the item on the other side of the ladder; -1: none
    std::string label;         ///< short, for the item itself
    std::string path;          ///< full: module path and operator
    Phase phase = Phase::forward;
    int op_count = 1;
    int repeats = 1;      ///< number of equal blocks within the same parent, itself included
    Nanoseconds time;     ///< of one run of all its ops
    int runs = 0;         ///< runs of its ops in the schedule; 0 without a schedule
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
    IdVector<OpId, int> item_of;             ///< the item that shows an op, alone or within a block
    IdVector<BlockId, int> cluster_of;       ///< the frame of an expanded block; -1: it has none
};

/// A block counts as expanded when it or its twin is in `expanded`, and shows when all blocks around it are
/// expanded. A block of `scattered_blocks` does not show itself, but its children show in the frame around
/// it. Every op is in exactly one item. Cost: near linear in the graph; 10 ms for 10,000 ops.
BlockView make_block_view(const Graph& graph, const Blocks& blocks, const ExpandedBlocks& expanded,
                          const Decisions* decisions = nullptr);

/// `item_sizes` has one entry per item of the view, and `title_sizes` has one entry per cluster.
LayoutRequest layout_request(const BlockView& view, std::span<const Size> item_sizes,
                             std::span<const Size> title_sizes);

}  // namespace rematlas
