// Containers with other ops between their own, such as the two module lists of a U-Net that take turns. As
// one box each, such containers would have arrows both ways.
#pragma once

#include "viz/block_view/expanded_blocks.h"

namespace rematlas {

/// Blocks without ops of their own for which, or for whose twin, a path of tensors leaves the block and comes
/// back. Cost: for each container whose ops are not all in a row, linear in the ops from its first to its
/// last.
IdVector<BlockId, char> scattered_blocks(const Graph& graph, const Blocks& blocks);

}  // namespace rematlas
