// Training chains of any length, for benches and tests of solvers that are made for chains.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

enum class ChainKind {
    equal,   ///< every layer as the others
    blocks,  ///< four layers over and over, as the parts of a block
    uneven,  ///< no two layers need be equal in bytes or times
};

/// Layer i makes its output and what only its backward op reads, out of the output of layer i - 1; the loss
/// reads the last output; the backward op of a layer reads the incoming gradient, the layer's input, its
/// output and what it saved. Sizes are some MiB, workspaces included, times some microseconds. Passes
/// `validate`. Equal seeds give equal graphs; the seed matters where layers differ.
Graph long_chain(ChainKind kind, int layers, std::uint64_t seed = 1);

/// A chain of n unit ops and its backward part, which reads the incoming gradient and the forward op's input.
Graph unit_chain(int n);

}  // namespace rematlas
