// A graph with everything the views derive from it once: blocks, flat form, sums per block.
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
    Nanoseconds time;              ///< of one run of each op
    int repeats = 1;               ///< blocks with equal structure, itself included
    OpId first, last;              ///< in execution order; invalid for an empty block
    Phase phase = Phase::forward;  ///< of its first op
};

/// A value, never changed once built, so that threads share it without locks.
struct LoadedGraph {
    Graph graph;  ///< `blocks` is always filled: its own, or those of `partition`
    std::optional<Partition> partition;
    IdVector<BlockId, Block> own_blocks;  ///< the file's, else those of module paths and structure
    FlatGraph flat;
    std::string text;  ///< the file's exact bytes: a plan holds them
    std::filesystem::path path;

    IdVector<BlockId, BlockFacts> facts;
    IdVector<OpId, BlockId> block_of;  ///< the innermost block
    IdVector<TensorId, OpId> producer;
    std::vector<BlockId> roots;  ///< in execution order
    Bytes full_peak;             ///< peak without recomputation
    PeakBound least;             ///< proven lower bound on every peak without copies to the host
    Bytes least_with_activations, least_with_weights;  ///< the same with copies of these

    Bytes least_with(Offload what) const;
};
using GraphPtr = std::shared_ptr<const LoadedGraph>;

/// Cost: near linear, and up to half a second for the bound. `text` must be what `graph` was read from.
GraphPtr prepare_graph(Graph graph, std::string text, std::filesystem::path path);

/// The same graph in other blocks; without a partition in its own. Cost: a copy, and that of `decompose`.
GraphPtr in_blocks_of(const LoadedGraph& graph, std::optional<Partition> partition);

/// Reads, validates and prepares. Errors: one line that names the file.
Result<GraphPtr> load_graph(const std::filesystem::path& path);

/// What the graph's file tells of where it comes from: a text under the key; empty where it tells nothing.
std::string told_of_origin(const LoadedGraph& graph, std::string_view key);

/// From the root down to the block itself.
std::vector<BlockId> ancestry(const LoadedGraph& graph, BlockId block);

/// All ops of the block and its descendants, ascending.
std::vector<OpId> ops_under(const LoadedGraph& graph, BlockId block);
/// The op that is selected, or those of the selected block; none without a selection, or of another graph.
std::vector<OpId> ops_of(const LoadedGraph& graph, const Selected& selected);
/// The same as a mark for each op; empty without a selection.
IdVector<OpId, char> marked_ops(const LoadedGraph& graph, const Selected& selected);

}  // namespace rematlas::explorer
