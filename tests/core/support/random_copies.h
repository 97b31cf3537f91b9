// Random graphs, and random steps with copies to the host and back, residents whose home is the host, and
// host ops. Tests use them to compare two simulators.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns a random training graph (random_graph.h) for a device with links of every kind. Some ops update
/// residents, in the forward and as an optimizer that can run on the host. Passes `validate`.
Graph random_graph_with_links(std::uint64_t seed);

/// Returns a schedule that runs every op in the graph's order, with random reruns, copies, frees and drops in
/// between, and with random homes of residents. Most of the schedules are valid; some have one wrong step.
/// The schedule has no predicted costs.
Schedule random_schedule_with_copies(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
