// The expanded blocks of a forest, and the runs of equal blocks that are folded into one item.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"

namespace rematlas {

using Blocks = IdVector<BlockId, Block>;  ///< a forest as returned by `decompose`

struct ExpandedBlocks {
    std::unordered_set<BlockId> blocks;
    std::unordered_set<BlockId> unfolded;  ///< first blocks of the runs that are not folded

    bool contains(BlockId block) const { return blocks.contains(block); }
    void insert(BlockId block) { blocks.insert(block); }
    bool empty() const { return blocks.empty() && unfolded.empty(); }
    bool operator==(const ExpandedBlocks&) const = default;
};

/// Says whether the block or its twin is in `expanded`.
bool is_expanded(const Blocks& blocks, const ExpandedBlocks& expanded, BlockId block);

/// Expands all blocks above a depth. Roots are at depth 0, so `depth` 0 expands nothing, 1 expands the roots,
/// and so on. Runs stay folded.
ExpandedBlocks expanded_to_depth(const Blocks& blocks, int depth);

/// Returns the largest depth at which at most `max_items` items are shown; at least 1.
int depth_for(const Blocks& blocks, int max_items = 150);

/// Returns the depth of the deepest block plus 1. `expanded_to_depth` with this depth shows every op.
int full_depth(const Blocks& blocks);

/// Expands or collapses a block and its twin. `collapse` also collapses and folds the blocks inside.
void expand(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block);
void collapse(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block);

/// Returns how many ops each block and its descendants contain.
IdVector<BlockId, int> ops_covered(const Blocks& blocks);

/// Runs of equal blocks: at least three consecutive siblings of the same repeat class. Either all blocks of a
/// run have twins or none has. The twins of forward blocks belong to the run of these forward blocks.
struct BlockRuns {
    /// For each block: the first block of its run, or invalid if the block is in no run. The first block is a
    /// forward block if the blocks have twins.
    IdVector<BlockId, BlockId> first;
};
BlockRuns runs_of(const Blocks& blocks);

/// Returns the blocks that are folded into one item with `block`, including `block`, in the order of the run.
/// For a backward block these are the twins of the forward blocks. The result is empty if `block` is not
/// folded: it is expanded, it is in no run, its run is unfolded, or fewer than three neighbouring blocks of
/// the run are collapsed.
std::vector<BlockId> folded_run(const Blocks& blocks, const BlockRuns& runs, const ExpandedBlocks& expanded,
                                BlockId block);

}  // namespace rematlas
