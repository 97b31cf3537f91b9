// The hierarchy of a training graph: blocks from module paths where there are some, else from the structure.
#pragma once

#include "core/graph/graph.h"
#include "core/hierarchy/training_tree.h"

namespace rematlas {

/// A forest that covers every op exactly once: one tree for the forward ops and its twin for the backward ops
/// (every forward block has a backward twin or none), and a block each for the loss and the optimizer where
/// they exist.
/// - From module paths: one block a module, in order of first use; chains of single children are kept (they
///   are names people know).
/// - A level with more than 30 items and no module paths to go by is cut at articulation points of its
///   forward part (tensors through which all of the flow passes; Tarjan 1972). Where it has none, it is cut
///   into groups of about the square root of its length. More than 30 parts are grouped in the same way.
/// - Blocks with equal structure (ops, bytes, edges inside, workspaces; not times) get the same repeat_class.
/// If the graph already has blocks they are returned as they are. Cost: near linear.
IdVector<BlockId, Block> decompose(const Graph& graph);

/// The same forest from the nested blocks of `training_tree`, whatever blocks the graph has. Ops that need
/// not run, and forward ops that wait for the backward part, belong to the roots.
IdVector<BlockId, Block> decompose(const Graph& graph, const PartitionOptions& options);

}  // namespace rematlas
