// The blocks of a forest that are expanded, and the equal blocks that are folded into one item.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"

namespace rematlas {

using Blocks = IdVector<BlockId, Block>;  ///< a forest as `decompose` gives it

struct ExpandedBlocks {
    std::unordered_set<BlockId> blocks;
    std::unordered_set<BlockId> unfolded;  ///< first blocks of the runs that show their blocks

    bool contains(BlockId block) const { return blocks.contains(block); }
    void insert(BlockId block) { blocks.insert(block); }
    bool empty() const { return blocks.empty() && unfolded.empty(); }
    bool operator==(const ExpandedBlocks&) const = default;
};

/// Whether the block or its twin is in `expanded`.
bool is_expanded(const Blocks& blocks, const ExpandedBlocks& expanded, BlockId block);

/// Roots are at depth 0: depth 0 expands nothing, depth 1 the roots, and so on. Runs stay folded.
ExpandedBlocks expanded_to_depth(const Blocks& blocks, int depth);

/// The largest depth at which at most `max_items` items show; at least 1.
int depth_for(const Blocks& blocks, int max_items = 150);

/// Depth of the deepest block, plus 1: `expanded_to_depth` of it shows every op.
int full_depth(const Blocks& blocks);

/// Expands or collapses a block and its twin; collapsing also collapses and folds the blocks inside.
void expand(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block);
void collapse(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block);

/// How many ops each block covers, those of its children included.
IdVector<BlockId, int> ops_covered(const Blocks& blocks);

/// Runs: at least three siblings of the same repeat class, one right after the other, with all of their twins
/// or none. Twins belong to the run of the forward blocks.
struct BlockRuns {
    /// For each block, the first block of its run, which is a forward block if the blocks have twins. It is
    /// invalid if the block is in no run.
    IdVector<BlockId, BlockId> first;
};
BlockRuns runs_of(const Blocks& blocks);

/// The blocks that are folded into one item with `block`, itself included, in the order of the run. For a
/// backward block they are the twins of the forward blocks. The list is empty if `block` stands alone: it is
/// expanded, it is in no run, its run is unfolded, or expanded blocks leave fewer than three blocks beside
/// each other.
std::vector<BlockId> folded_run(const Blocks& blocks, const BlockRuns& runs, const ExpandedBlocks& expanded,
                                BlockId block);

}  // namespace rematlas
