// Random training graphs for differential tests. They are small and valid. All of them together have every
// feature that solvers must handle.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

/// Each feature appears in some of the graphs, not in all. Sizes are small integers, so budgets are tight and
/// many costs are equal.
struct RandomGraphOptions {
    int forward_ops = 3;           ///< the graph has about 2.7 times as many ops, with loss and backward
    bool skips = true;             ///< ops that also read a random earlier tensor
    bool several_outputs = true;   ///< ops with two outputs
    bool weight_gradients = true;  ///< gradients of parameters; these are results that no op reads
    bool forward_results = true;   ///< an activation that is a result
    bool workspaces = true;
    bool residents = true;
    bool inplace = true;
    bool run_once = true;  ///< forward ops that must not be recomputed
    bool free_ops = true;  ///< ops that take no time
    int unit = 1;          ///< all sizes are multiples of this many bytes
};

/// Returns a forward, a loss, and a backward that reads gradients and tensors saved by the forward. Passes
/// `validate`. Equal seeds and options give equal graphs.
Graph random_training_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// Returns any DAG of `ops` ops with random phases. It may have no backward op, be disconnected, or have ops
/// whose outputs are not needed. Passes `validate`.
Graph random_odd_graph(std::uint64_t seed, int ops);

/// Returns a pure chain: `stages` forward ops, a loss, and one backward op for each forward op. A backward op
/// reads the incoming gradient and either the forward op's output or its input, or both (always both with
/// `reads_both`). The last backward op's output is the only result.
Graph random_chain(std::uint64_t seed, int stages, bool reads_both = false);

}  // namespace rematlas
