// Synthetic training graphs without repeats: layers of random widths, sizes and times, with long skips.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

struct IrregularShape {
    int forward_ops = 200;  ///< about 30 % of all ops
    double skips =
        0.3;  ///< share of the ops that read a second tensor, too; a third of these ops read any earlier
              ///< tensor, the others one of the last twelve
    std::uint64_t seed = 1;
};

/// Activations have 64 KiB to 3 MiB. The times of ops vary over two orders of magnitude, independently of the
/// sizes. Each forward op has a gradient op for each of its inputs, except for the input of the graph. The
/// gradient ops of a forward op read either these inputs or the forward op's output. Two fifths of the
/// forward ops also have a weight gradient of 16 KiB, which is a result. Several gradients of one tensor are
/// added up. Passes `validate`. Equal shapes give equal graphs.
Graph irregular_graph(const IrregularShape& shape = {});

}  // namespace rematlas
