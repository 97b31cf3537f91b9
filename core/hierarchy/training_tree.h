// The training step as nested blocks: what hierarchical solvers work on.
//
//     const TrainingTree tree = training_tree(graph, flat, {.by = Partition::bottom_up});
//     for (const int child : tree.blocks[0].children) ... tree.blocks[child].backward ...
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
    articulation,  ///< where one tensor at most is read across (Rockmate: Zhao et al., ICML 2023)
    bottom_up,     ///< small neighbours with small interfaces are merged (HiRemate: Gusak et al., ICML 2025)
    modules,       ///< module paths, which people know
    repeats        ///< what stands several times in a row
};
std::string_view to_string(Partition partition);
std::optional<Partition> partition_from(std::string_view text);

struct PartitionOptions {
    Partition by = Partition::bottom_up;
    int most_items = 25;          ///< of a level: ops of a bottom block, children of another
    bool single_ops = false;      ///< bottom blocks are single ops, those that would be are levels of them
    bool nest_sequences = false;  ///< articulation: long sequences of blocks are nested, too
    double size_power =
        0.5;  ///< bottom-up: of neighbours, those with the least interface bytes * items ^ this merge first
};

struct TrainingBlock {
    std::int32_t begin = 0, end = 0;  ///< of `TrainingTree::forward`
    std::int32_t parent = -1;
    std::vector<std::int32_t>
        children;  ///< in forward order, together the whole block; empty: a bottom block
    std::vector<std::int32_t> backward;  ///< all other required ops that belong here, by rank
};

struct TrainingTree {
    std::vector<std::int32_t> forward;  ///< required forward ops that read nothing of the others, in order
    std::vector<std::int32_t> rank;     ///< by op: its place when all forward parts run in order and then all
                                        ///< backward parts in reverse order; -1 for ops that need not run
    std::vector<TrainingBlock> blocks;  ///< parents before their children; the first one is the whole step
};

/// Loss and optimizer ops are among the backward ops. A backward op belongs to the block of its forward op
/// (`Op::of`), else to the last one whose forward ops make or read all that it reads; but to no block after
/// one that it gets a gradient from. Articulation keeps sequences of any length unless `nest_sequences`;
/// otherwise a level has `most_items` at most. Without a required forward op: one block. Cost: near linear,
/// but for `repeats` (forward ops squared).
TrainingTree training_tree(const Graph& graph, const FlatGraph& flat, const PartitionOptions& options = {});

}  // namespace rematlas
