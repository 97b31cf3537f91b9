// Finds the fastest schedules of tiny graphs whose collectives run at the same time as compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace rematlas {

/// Returns the least time of all schedules with a peak of at most `budget` bytes, with any order of ops and
/// any number of reruns, and without copies to the host. Returns nullopt if there is no schedule, or if none
/// is found within `states` states. The search is A* over the tensors on the device and the times at which
/// collectives are over. It shares no code with the simulators and solvers. The graph must have at most two
/// queues, 16 tensors and 16 ops, and no op may mutate residents.
std::optional<std::int64_t> brute_force_with_queues(const Graph& graph, std::int64_t budget,
                                                    std::size_t states = 60'000);

}  // namespace rematlas
