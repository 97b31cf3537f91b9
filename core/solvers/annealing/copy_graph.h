// The graph as a search with copies sees it: its ops, and ops that only wait.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/solving/solver.h"

namespace rematlas::annealing {

struct CopyGraph {
    FlatGraph flat;                        ///< the problem's, and behind its ops those that wait
    int real_ops = 0;                      ///< ops of the problem
    std::vector<std::int32_t> waits = {};  ///< ops that do nothing for 1/8, 1/16, ... of the step
    // Of each tensor.
    std::vector<std::uint8_t> may_leave = {};
    std::vector<std::uint8_t> starts_on_host = {};  ///< a copy is there from the start
    std::vector<std::uint8_t> ends_on_host = {};    ///< in a gap to the end it is not copied back
};

/// Tensors too small to be worth a copy do not leave: those below `links.least_copy`, and those that together hold
/// a two hundredth of all bytes.
CopyGraph copy_graph(const Problem& problem);

}  // namespace rematlas::annealing
