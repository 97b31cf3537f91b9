// A sequence of blocks as a chain for Rotor's dynamic program: each block is a stage, and each option of a
// block is a way to run the stage.
#pragma once

#include <vector>

#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/rotor/rotor_chain.h"

namespace rematlas::hierarchical {

/// Marks the forward tensors that the dynamic program can neither make again nor free: results, outputs of
/// ops that may run only once, and tensors that some stage reads, other than their own stage and the next
/// one. The stages are the children of the tree's first block. Returns one mark per tensor of the whole
/// graph.
std::vector<std::uint8_t> always_there(const FlatGraph& flat, const TrainingTree& tree);

/// Returns the chain whose stages are the children of the table's first block. The table must have been made
/// with the marks of `always_there`. `flat` is the whole graph.
RotorChain chain_of(const FlatGraph& flat, const BlockTable& table);

}  // namespace rematlas::hierarchical
