// A sequence of blocks as a chain for Rotor's dynamic programme: a stage for each, a way for each option.
#pragma once

#include <vector>

#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/rotor/rotor_chain.h"

namespace rematlas::hierarchical {

/// Marks the tensors of the forward part that the programme can neither make again nor free: results,
/// outputs of ops that run once only, and tensors that a stage reads that is neither their own nor the next
/// one. The stages are the children of the tree's first block. By tensor of the whole graph.
std::vector<std::uint8_t> always_there(const FlatGraph& flat, const TrainingTree& tree);

/// The chain whose stages are the children of the table's first block. The table must have been made with
/// the marks of `always_there`; `flat` is the whole graph.
RotorChain chain_of(const FlatGraph& flat, const BlockTable& table);

}  // namespace rematlas::hierarchical
