// Training graphs with the ops of an optimizer.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

struct AdamwCosts {
    std::int64_t state_bytes = 6;  ///< a byte of the parameter: master weights and two moments
    double device_bytes_per_second = 1e12;
    double host_bytes_per_second = 0;  ///< of an update on the host; 0: it cannot run there
};

/// `graph`, whose gradients are results named as their parameters with ".grad" behind: each is read by an update
/// instead, which changes its parameter and a state. Passes `validate`.
Graph with_adamw(Graph graph, const AdamwCosts& costs = {});

}  // namespace rematlas
