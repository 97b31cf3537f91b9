// Synthetic training graphs without repeats: layers of random widths, sizes and times, with long skips.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

struct IrregularShape {
    int forward_ops = 200;  ///< about a third of all ops
    double skips =
        0.3;  ///< share of the ops that also read a second tensor; for a third of them this is any earlier
              ///< tensor, for the others one of the last twelve
    std::uint64_t seed = 1;
};

/// Sizes are between 64 KiB and 3 MiB, and times vary over two orders of magnitude, independently of the
/// sizes. Each forward op has a gradient op for each of its inputs, except for the input of the graph. A
/// gradient op reads this input of its forward op or the forward op's output. Two fifths of the forward ops
/// also have a weight gradient, which is a result. Several gradients of one tensor are added up. Passes
/// `validate`. Equal shapes give equal graphs.
Graph irregular_graph(const IrregularShape& shape = {});

}  // namespace rematlas
