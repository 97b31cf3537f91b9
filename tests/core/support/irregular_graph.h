// Synthetic training graphs without repeats: layers of random width, sizes and times, with long skips.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

struct IrregularShape {
    int forward_ops = 200;  ///< about a third of all
    double skips =
        0.3;  ///< share of the ops that read one more tensor, in a third of the cases from anywhere
    std::uint64_t seed = 1;
};

/// Sizes from 64 KiB to 3 MiB and times over two orders of magnitude, both without any relation. Each forward
/// op has a gradient op for each of its inputs, which reads that input or its own output, and two fifths a
/// weight gradient that is a result; gradients that meet are added up. Passes `validate`. Equal shapes give
/// equal graphs.
Graph irregular_graph(const IrregularShape& shape = {});

}  // namespace rematlas
