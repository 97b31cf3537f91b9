// A sequence of blocks as a chain for Rotor's dynamic programme: a stage for each, a way for each option.
#pragma once

#include <vector>

#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/rotor/rotor_chain.h"

namespace rematlas::hierarchical {

/// Tensors of the forward part that the programme cannot make again or free: results, those of ops that run
/// once, and those that are read further away than by the next child of the tree's first block. By tensor of
/// the whole graph.
std::vector<std::uint8_t> always_there(const FlatGraph& flat, const TrainingTree& tree);

/// The children of the table's first block. `table` was made with `always_there`; `flat` is the whole graph.
RotorChain chain_of(const FlatGraph& flat, const BlockTable& table);

}  // namespace rematlas::hierarchical
