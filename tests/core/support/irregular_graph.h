// Synthetic training graphs without repeats: layers of random widths, sizes and times, with long skips.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

struct IrregularShape {
    int forward_ops = 200;  ///< about a third of all ops
    double skips =
        0.3;  ///< share of the ops that read one more tensor; in a third of these cases from any earlier op
    std::uint64_t seed = 1;
};

/// Sizes are between 64 KiB and 3 MiB, and times vary over two orders of magnitude, independently of the
/// sizes. Each forward op has a gradient op for each of its inputs, which reads that input or its own output.
/// Two fifths of the forward ops also have a weight gradient, which is a result. Several gradients of one
/// tensor are added up. Passes `validate`. Equal shapes give equal graphs.
Graph irregular_graph(const IrregularShape& shape = {});

}  // namespace rematlas
