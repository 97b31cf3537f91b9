// Valid schedules made at random, with reruns and copies to the host: none may take less time than a bound says.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// The graph's order, in which each tensor is at random kept, copied out and fetched, or freed and made again,
/// some of them several times; residents leave and return, too. Copies out start at once, fetches some steps
/// ahead, ops run in place where nobody needs what they write over. Equal seeds give equal schedules.
std::vector<Step> random_copying_schedule(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
