// The hierarchy of a training graph: blocks from module paths if the graph has some, else from its structure.
#pragma once

#include "core/graph/graph.h"
#include "core/hierarchy/training_tree.h"

namespace rematlas {

/// Returns a forest that covers every op exactly once: a tree for the forward ops, its twin for the backward
/// ops (every forward block has at most one backward twin), and one block each for the loss and the optimizer
/// if the graph has them. Blocks that the graph already has are returned unchanged. Cost: nearly linear.
/// - From module paths: one block per module, in order of first use. Chains of blocks with a single child are
///   kept, because users know these names.
/// - If module paths leave a level with more than 30 items, the level is cut at articulation points of its
///   forward part (tensors through which the whole data flow passes; Tarjan 1972). If there is no such point,
///   it is cut into groups of about the square root of its length. If there are more than 30 parts, they are
///   grouped in the same way.
/// - Blocks with equal structure (ops, bytes, inner edges, workspaces; not times) get the same repeat_class.
IdVector<BlockId, Block> decompose(const Graph& graph);

/// Returns a forest of the same form, made from the nested blocks of `training_tree`. Ignores blocks that the
/// graph already has. Ops that need not run, and forward ops that wait for the backward part, belong to the
/// roots.
IdVector<BlockId, Block> decompose(const Graph& graph, const PartitionOptions& options);

}  // namespace rematlas
