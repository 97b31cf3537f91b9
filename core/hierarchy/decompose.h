// The hierarchy of a training graph: blocks from module paths where there are some, else from the structure.
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

/// A forest that covers every op exactly once: one tree for the forward ops and its twin for the backward ops
/// (every forward block has a backward twin or none), and a block each for the loss and the optimizer where
/// they exist.
/// - From module paths: one block a module, in order of first use; chains of single children are kept (they
/// are names people know).
/// - A level with more than 30 items and no module paths to go by is cut at articulation points of its
/// forward part (tensors through which all
///   of the flow passes; Tarjan 1972), then into runs of about the square root of its length.
/// - Blocks with equal structure (ops, bytes, edges inside, workspaces; not times) get the same repeat_class.
/// If the graph already has blocks they are returned as they are. Cost: near linear.
IdVector<BlockId, Block> decompose(const Graph& graph);

}  // namespace rematlas
