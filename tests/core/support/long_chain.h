// Training chains of any length, for benches and tests of solvers for chains.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

enum class ChainKind {
    equal,   ///< all layers are equal
    blocks,  ///< four different layers repeat, like the parts of a block
    uneven,  ///< layers differ in bytes and times
};

/// Layer i reads the output of layer i - 1. It makes its own output, and a saved tensor that only its
/// backward op reads. The loss reads the last output. The backward op of a layer reads the incoming gradient,
/// the layer's input and output, and the saved tensor. Tensors and workspaces have at most 12 MiB, and ops
/// take at most 20 microseconds. Passes `validate`. Equal seeds give equal graphs; the seed matters only if
/// layers differ.
Graph long_chain(ChainKind kind, int layers, std::uint64_t seed = 1);

/// A chain of n ops with unit costs, and their backward ops, each of which reads the incoming gradient and
/// the forward op's input. Ops 0 .. n - 1 are forward, op n is the loss, and op 2n - i is the backward op of
/// op i. Tensor i is the input of op i, and tensor n the output of the last forward op, which the loss alone
/// reads. Each tensor has 1 byte, except the chain's input, which has none; each op takes 1 ns.
Graph unit_chain(int n);

}  // namespace rematlas
