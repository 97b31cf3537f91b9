// Random graphs and steps in which tensors go to the host and back, residents live there and ops run there: for
// tests that hold two players against each other.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// A random training graph (random_graph.h) with ops that update residents, in the forward part and as an optimizer that
/// can run on the host, on a device with links of every kind. Passes `validate`.
Graph random_graph_with_links(std::uint64_t seed);

/// Every op in the graph's order, with reruns, copies, frees and drops at random between them, and homes of
/// residents. Most are possible; in some one step is wrong. Nothing is predicted.
Schedule random_schedule_with_copies(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
