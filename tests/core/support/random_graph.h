// Random training graphs for differential tests: small, valid, and different in every way the solvers must
// handle.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

/// Each feature appears in some of the graphs, not in all. Sizes are small integers, so that budgets are
/// tight and ties common.
struct RandomGraphOptions {
    int forward_ops = 3;           ///< with the loss and the backward part, about 2.7 ops each
    bool skips = true;             ///< ops that read an early tensor again
    bool several_outputs = true;   ///< ops with two outputs
    bool weight_gradients = true;  ///< gradients of parameters: results that nobody reads
    bool forward_results = true;   ///< an activation that must be there at the end
    bool workspaces = true;
    bool residents = true;
    bool inplace = true;
    bool run_once = true;  ///< forward ops that may not be recomputed
    bool free_ops = true;  ///< ops that take no time
    int unit = 1;          ///< bytes that every size is a multiple of
};

/// A forward part, a loss, and a backward part that reads gradients and what the forward part saved. Passes
/// `validate`. Equal seeds and options give equal graphs.
Graph random_training_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// Any DAG of `ops` operations: phases at random, possibly no backward op, disconnected, ops nobody needs.
/// Passes `validate`.
Graph random_odd_graph(std::uint64_t seed, int ops);

/// A pure chain: `stages` forward ops, a loss, and for each forward op one backward op that reads the
/// incoming gradient and either the forward op's output or its input, or both (always both with
/// `reads_both`). The last backward op's output is the only result.
Graph random_chain(std::uint64_t seed, int stages, bool reads_both = false);

}  // namespace rematlas
