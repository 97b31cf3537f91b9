// Finds blocks whose ops alternate with ops of other blocks, such as the two module lists of a U-Net. If each
// block were drawn as one box, arrows would lead both ways between the boxes.
#pragma once

#include "viz/block_view/expanded_blocks.h"

namespace rematlas {

/// Marks each block without ops of its own if a path of tensors leaves the block and comes back. Marks the
/// twin of such a block as well. Cost: for each block whose ops are not consecutive, the number of ops of the
/// graph from the block's first op to its last op.
IdVector<BlockId, char> scattered_blocks(const Graph& graph, const Blocks& blocks);

}  // namespace rematlas
