// The training step as nested blocks, on which hierarchical solvers work.
//
//     const TrainingTree tree = training_tree(graph, flat, {.by = Partition::bottom_up});
//     for (const int child : tree.blocks[0].children) use(tree.blocks[child].backward);
//
// A block is an interval of the forward ops together with the backward ops that belong to it. At each level
// of the tree, all forward parts in order and then all backward parts in reverse order are an executable
// step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// The method that chooses where blocks begin and end.
enum class Partition : std::uint8_t {
    /// At points that at most one tensor crosses (Rockmate: Zhao et al., ICML 2023).
    articulation,
    /// By merging small neighbouring blocks if few bytes cross the ends of the merged block (HiRemate:
    /// Gusak et al., ICML 2025).
    bottom_up,
    modules,  ///< by module paths, which users know
    repeats   ///< by patterns of ops that are repeated several times in a row
};
std::string_view to_string(Partition partition);
std::optional<Partition> partition_from(std::string_view text);

struct PartitionOptions {
    Partition by = Partition::bottom_up;
    /// The most items of a block: ops of a bottom block (a block without children), or children of any other
    /// block.
    int most_items = 25;
    bool single_ops = false;      ///< splits bottom blocks further, into single ops
    bool nest_sequences = false;  ///< for `articulation`: also nests long sequences of blocks
    /// `bottom_up` first merges the neighbours with the least b * n ^ size_power, where b is the bytes that
    /// cross the ends of the merged block and n is the number of its ops.
    double size_power = 0.5;
};

struct TrainingBlock {
    std::int32_t begin = 0, end = 0;  ///< interval in `TrainingTree::forward`
    std::int32_t parent = -1;
    std::vector<std::int32_t>
        children;  ///< in forward order; together they are the whole block; empty for a bottom block
    std::vector<std::int32_t> backward;  ///< all other required ops of the block, in the order of `rank`
};

struct TrainingTree {
    /// The required forward ops whose inputs are all residents or made by other ops of this list. The list is
    /// in the graph's order.
    std::vector<std::int32_t> forward;
    /// Per op: its place if all forward parts run in order and then all backward parts in reverse order; -1
    /// for ops that need not run.
    std::vector<std::int32_t> rank;
    std::vector<TrainingBlock> blocks;  ///< parents come before their children; the first block is the whole
                                        ///< step
};

/// Returns the tree. Loss and optimizer ops count as backward ops. A backward op belongs to the block of its
/// forward op (`Op::of`). If it has no forward op, each forward tensor that it reads has a last block that
/// makes or reads the tensor. The backward op then belongs to the first of these blocks, but to no block
/// before all these tensors are made. A backward op never belongs to a block after a block from which it gets
/// a gradient. A level has at most `most_items` items, except that `articulation` without `nest_sequences`
/// keeps sequences of any length. Without a required forward op the tree is one block. Cost: nearly linear,
/// except for `repeats` (quadratic in the forward ops).
TrainingTree training_tree(const Graph& graph, const FlatGraph& flat, const PartitionOptions& options = {});

}  // namespace rematlas
