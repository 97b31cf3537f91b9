// Good schedules of tiny graphs that may copy tensors to the host and back: what a bound must not exceed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace rematlas {

struct HostSearch {
    /// False: a tensor goes to the host, if at all, right after it was made or updated, or at the start.
    bool at_any_time = false;
    std::size_t states = 20'000;  ///< at most so many are looked at
    /// Residents may live on the host, or there and on the device, and results may end on the host. (Else all are on the
    /// device at both ends.)
    bool homes = false;
    std::optional<std::int64_t> host_budget =
        {};  ///< bytes that may lie on the host at any moment; then copies are dropped, too
};

/// The least time of all schedules with a peak of at most `budget` bytes, with any number of reruns and copies;
/// nothing when there is none, or when so many states do not show it. Residents are where they were and all copies
/// and ops on the host done at the end. A* over what is where and when the copies under way are done; the graph must name the speeds of its links.
/// Shares no code with the solvers. At most 12 tensors and 16 ops.
std::optional<std::int64_t> brute_force_with_host(const Graph& graph, std::int64_t budget,
                                                  const HostSearch& options = {});

}  // namespace rematlas
