// A graph with data that is derived from it once and used by all views: blocks, the flat form, sums over
// blocks.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/explorer/loaded/selection.h"
#include "core/base/result.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"
#include "core/hierarchy/training_tree.h"
#include "core/solving/copies.h"

namespace rematlas::explorer {

/// Sums over the ops of a block and of its descendants.
struct BlockFacts {
    int ops = 0;
    Bytes made;                    ///< bytes of all outputs, if each op runs once
    Nanoseconds time;              ///< time of all ops, if each op runs once
    int repeats = 1;               ///< number of blocks with this structure, including this block
    OpId first, last;              ///< first and last op in execution order; invalid for an empty block
    Phase phase = Phase::forward;  ///< phase of its first op
};

/// A graph and the data derived from it. Never changed after it is built, so threads share it without locks.
struct LoadedGraph {
    Graph graph;  ///< `graph.blocks` has the blocks of `partition`, else `own_blocks`; never empty
    std::optional<Partition> partition;
    /// The blocks in the file, or blocks made from module paths and structure if the file has none
    IdVector<BlockId, Block> own_blocks;
    FlatGraph flat;
    std::string text;  ///< the exact text of the file, which is stored in plans
    std::filesystem::path path;

    IdVector<BlockId, BlockFacts> facts;
    IdVector<OpId, BlockId> block_of;  ///< the innermost block of each op
    IdVector<TensorId, OpId> producer;
    std::vector<BlockId> roots;  ///< the root blocks, in execution order
    Bytes full_peak;             ///< peak without recomputation
    PeakBound least;             ///< proven lower bound on the peak of each schedule without copies to the
                                 ///< host
    Bytes least_with_activations, least_with_weights;  ///< lower bounds on the peak if activations, or
                                                       ///< activations and weights, may be offloaded

    Bytes least_with(Offload what) const;
};
using GraphPtr = std::shared_ptr<const LoadedGraph>;

/// Prepares a graph. `graph` must have been read from `text`. Cost: nearly linear, but the bound `least` can
/// take up to half a second.
GraphPtr prepare_graph(Graph graph, std::string text, std::filesystem::path path);

/// Returns a copy of the graph that is grouped into the blocks of `partition`, or into its own blocks if
/// `partition` is nullopt. Cost: a copy of the graph and a call of `decompose`.
GraphPtr in_blocks_of(const LoadedGraph& graph, std::optional<Partition> partition);

/// Reads, validates and prepares a graph file. The error message is one line that names the file.
Result<GraphPtr> load_graph(const std::filesystem::path& path);

/// Returns the text that the graph's file has under `key` in its provenance; empty if there is none.
std::string told_of_origin(const LoadedGraph& graph, std::string_view key);

/// Returns the block and all blocks around it, from the root down to the block itself.
std::vector<BlockId> ancestry(const LoadedGraph& graph, BlockId block);

/// Returns all ops of the block and its descendants, ascending.
std::vector<OpId> ops_under(const LoadedGraph& graph, BlockId block);
/// Returns the selected op, or the ops of the selected blocks, ascending; empty if nothing is selected, or if
/// the selection is not of this graph.
std::vector<OpId> ops_of(const LoadedGraph& graph, const Selected& selected);
/// Marks the ops that `ops_of` returns. Returns an empty vector if nothing is selected.
IdVector<OpId, char> marked_ops(const LoadedGraph& graph, const Selected& selected);

}  // namespace rematlas::explorer
