// The ladder view of a training graph. An expanded block shows its content. Any other block is one item that
// represents all of its ops.
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

/// The decision of a schedule about a tensor, for the time between its first making and its last use.
enum class Decision { keep, recompute, offload };

struct Decisions {
    IdVector<OpId, int> runs;              ///< how often each op runs
    IdVector<TensorId, Decision> tensors;  ///< `offload` if the tensor is ever offloaded, else `recompute` if
                                           ///< its op runs again
};

/// Returns the bytes of all outputs of the op.
Bytes bytes_made(const Graph& graph, OpId op);

/// Returns the decisions of a schedule. Steps whose op or tensor is not in the graph are ignored.
Decisions decisions_of(const Graph& graph, std::span<const Step> steps);

/// Bytes for each decision. Without a schedule, all bytes are in `kept`.
struct DecisionShares {
    Bytes kept;
    Bytes recomputed;
    Bytes offloaded;

    Bytes total() const { return kept + recomputed + offloaded; }
    Bytes& of(Decision decision) {
        return decision == Decision::keep ? kept : decision == Decision::recompute ? recomputed : offloaded;
    }
    Decision largest() const;
    bool operator==(const DecisionShares&) const = default;
};

/// A single op (`op` is valid), a collapsed block (`block` is valid), or a run of equal blocks.
struct BlockViewItem {
    OpId op;
    BlockId block;             ///< the block; for a run, its first block
    std::vector<BlockId> run;  ///< all blocks of a run, the block nearest to the network's input first; empty
                               ///< if the item is no run
    int cluster = -1;          ///< index into `BlockView::clusters` of the innermost expanded block around
                               ///< the item; -1: none
    int twin = -1;             ///< index of the item on the other side of the ladder; -1: none
    std::string label;         ///< short text that is shown on the item
    std::string path;          ///< full text: module path and operator
    Phase phase = Phase::forward;
    int op_count = 1;
    int repeats = 1;      ///< number of equal blocks in the same parent, including this block
    Nanoseconds time;     ///< time of running each of its ops once
    int runs = 0;         ///< runs of its ops in the schedule; 0 without a schedule
    DecisionShares made;  ///< bytes that its ops make
};

/// All tensors that one item makes and another item reads, drawn as one edge.
struct BlockViewEdge {
    int from = -1;
    int to = -1;
    EdgeRole role = EdgeRole::down;
    int tensors = 0;
    DecisionShares bytes;  ///< bytes of the tensors, each counted once
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
    std::vector<BlockViewItem> items;        ///< in the order in which their first ops run
    std::vector<BlockViewEdge> edges;        ///< sorted by `from`, then by `to`
    std::vector<BlockViewCluster> clusters;  ///< parents come before their children
    std::vector<LayoutPair> pairs;           ///< a forward and a backward item that are twins, or contain an
                                             ///< op and its gradient; ascending
    IdVector<OpId, int> item_of;             ///< for each op: index of the item that shows it, alone or in a
                                             ///< block
    IdVector<BlockId, int> cluster_of;       ///< for each block: index of the cluster that shows it expanded;
                                             ///< -1: none
};

/// Makes the view. A block counts as expanded if it or its twin is in `expanded`. A block is shown if all
/// blocks around it are expanded. A block in `scattered_blocks` is not shown; its children are shown in the
/// surrounding frame. Every op is in exactly one item. Cost: nearly linear in the graph; 10 ms for 10,000
/// ops.
BlockView make_block_view(const Graph& graph, const Blocks& blocks, const ExpandedBlocks& expanded,
                          const Decisions* decisions = nullptr);

/// Makes the layout request for a view. `item_sizes` must have one entry for each item of the view,
/// `title_sizes` one for each cluster.
LayoutRequest layout_request(const BlockView& view, std::span<const Size> item_sizes,
                             std::span<const Size> title_sizes);

}  // namespace rematlas
