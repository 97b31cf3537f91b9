// The training step as nested blocks: what hierarchical solvers work on.
//
//     const TrainingTree tree = training_tree(graph, flat, {.by = Partition::bottom_up});
//     for (const int child : tree.blocks[0].children) use(tree.blocks[child].backward);
//
// A block is an interval of the forward ops with the backward ops that belong to it. All forward parts in
// order and then all backward parts in reverse order are an executable step, at each level of the tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Where blocks begin and end.
enum class Partition : std::uint8_t {
    articulation,  ///< cuts where at most one tensor is read across (Rockmate: Zhao et al., ICML 2023)
    bottom_up,     ///< small neighbours with small interfaces are merged (HiRemate: Gusak et al., ICML 2025)
    modules,       ///< module paths, which people know
    repeats        ///< patterns of ops that stand several times in a row
};
std::string_view to_string(Partition partition);
std::optional<Partition> partition_from(std::string_view text);

struct PartitionOptions {
    Partition by = Partition::bottom_up;
    int most_items = 25;          ///< at most, in a level: ops of a bottom block, children of any other
    bool single_ops = false;      ///< bottom blocks are split further, into single ops
    bool nest_sequences = false;  ///< articulation: long sequences of blocks are nested, too
    double size_power = 0.5;      ///< bottom-up merges first where interface bytes * ops ^ this is least
};

struct TrainingBlock {
    std::int32_t begin = 0, end = 0;  ///< interval of `TrainingTree::forward`
    std::int32_t parent = -1;
    std::vector<std::int32_t>
        children;  ///< in forward order, together the whole block; empty: a bottom block
    std::vector<std::int32_t> backward;  ///< all other required ops that belong here, by rank
};

struct TrainingTree {
    std::vector<std::int32_t> forward;  ///< required forward ops that read from such ops alone, in order
    std::vector<std::int32_t> rank;     ///< by op: its place when all forward parts run in order and then all
                                        ///< backward parts in reverse order; -1 for ops that need not run
    std::vector<TrainingBlock> blocks;  ///< parents before their children; the first one is the whole step
};

/// Loss and optimizer ops are among the backward ops. A backward op belongs to the block of its forward op
/// (`Op::of`), else to the last block whose forward ops make or read all of the forward tensors that it
/// reads. It never belongs to a block after one that it gets a gradient from. Articulation keeps sequences
/// of any length unless `nest_sequences`; otherwise a level has `most_items` at most. Without a required
/// forward op the tree is one block. Cost: near linear, except for `repeats` (the square of the forward
/// ops).
TrainingTree training_tree(const Graph& graph, const FlatGraph& flat, const PartitionOptions& options = {});

}  // namespace rematlas
