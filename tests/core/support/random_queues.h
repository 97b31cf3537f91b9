// Random graphs with collectives that run at the same time as compute.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

/// Gives about a third of the ops a queue, "left" or "right", and bytes over the wire. Ops that mutate
/// residents stay on compute. The ops with a queue lose their workspaces. Passes `validate` if `graph` does.
Graph with_random_queues(Graph graph, std::uint64_t seed);

}  // namespace rematlas
