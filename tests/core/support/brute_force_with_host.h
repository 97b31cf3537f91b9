// Good schedules of tiny graphs that may copy tensors to the host and back: what a bound must not exceed.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace rematlas {

/// The least time of all schedules with a peak of at most `budget` bytes in which a tensor goes to the host,
/// if at all, right after it was made; nothing when there is none, or when 20,000 states do not show it. A*
/// over what is where and when the copies under way are done; the graph must name the speeds of its links.
/// Shares no code with the solvers. At most 12 tensors and 16 ops.
std::optional<std::int64_t> brute_force_with_host(const Graph& graph, std::int64_t budget);

}  // namespace rematlas
