// Makes valid random schedules with reruns and copies to the host. Tests check that none of them takes less
// time than a lower bound.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns a schedule in the graph's order. Each tensor is kept, copied to the host and fetched, or freed and
/// recomputed. The choice is random. Some tensors are copied or recomputed several times. Residents also
/// leave and return. A copy to the host starts as soon as the tensor may leave. A fetch starts some steps
/// before an op reads the tensor. Ops run in place if the overwritten tensor is not needed. Equal seeds give
/// equal schedules.
std::vector<Step> random_copying_schedule(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
