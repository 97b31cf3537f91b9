// A graph with the data that the views derive from it once: blocks, flat form, sums per block.
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

/// Sums over a block's own ops and those of its descendants.
struct BlockFacts {
    int ops = 0;
    Bytes made;                    ///< bytes of all outputs of one run of each op
    Nanoseconds time;              ///< time of one run of each op
    int repeats = 1;               ///< number of blocks with this structure, including this one
    OpId first, last;              ///< first and last op in execution order; invalid for an empty block
    Phase phase = Phase::forward;  ///< phase of its first op
};

/// Never changed once built, so threads share it without locks.
struct LoadedGraph {
    Graph graph;  ///< `blocks` is never empty: it has `own_blocks`, or the blocks of `partition`
    std::optional<Partition> partition;
    /// The blocks of the file, else blocks made from module paths and structure
    IdVector<BlockId, Block> own_blocks;
    FlatGraph flat;
    std::string text;  ///< the exact bytes of the file, which a plan contains
    std::filesystem::path path;

    IdVector<BlockId, BlockFacts> facts;
    IdVector<OpId, BlockId> block_of;  ///< the innermost block of each op
    IdVector<TensorId, OpId> producer;
    std::vector<BlockId> roots;  ///< the root blocks, in execution order
    Bytes full_peak;             ///< peak without recomputation
    PeakBound least;             ///< proven lower bound on every peak without copies to the host
    Bytes least_with_activations, least_with_weights;  ///< lower bounds if these may be offloaded

    Bytes least_with(Offload what) const;
};
using GraphPtr = std::shared_ptr<const LoadedGraph>;

/// Prepares a graph. `text` must be the text that `graph` was read from. Cost: nearly linear, and up to half
/// a second for the bound.
GraphPtr prepare_graph(Graph graph, std::string text, std::filesystem::path path);

/// Returns the same graph, grouped into the blocks of `partition`, or into its own blocks if that is null.
/// Cost: a copy, and that of `decompose`.
GraphPtr in_blocks_of(const LoadedGraph& graph, std::optional<Partition> partition);

/// Reads, validates and prepares a graph file. Errors: one line that names the file.
Result<GraphPtr> load_graph(const std::filesystem::path& path);

/// Returns the text under `key` in the provenance of the graph's file; empty if there is none.
std::string told_of_origin(const LoadedGraph& graph, std::string_view key);

/// Returns the blocks from the root down to the block itself.
std::vector<BlockId> ancestry(const LoadedGraph& graph, BlockId block);

/// All ops of the block and its descendants, ascending.
std::vector<OpId> ops_under(const LoadedGraph& graph, BlockId block);
/// Returns the selected op, or the ops of the selected blocks, ascending; empty if nothing is selected, or if
/// the selection is not of this graph.
std::vector<OpId> ops_of(const LoadedGraph& graph, const Selected& selected);
/// Returns the same as a mark for each op; empty if nothing is selected.
IdVector<OpId, char> marked_ops(const LoadedGraph& graph, const Selected& selected);

}  // namespace rematlas::explorer
