// Finds good schedules of tiny graphs with copies to the host. No bound may exceed their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace rematlas {

struct HostSearch {
    /// If false, a tensor can be offloaded only right after it was made or updated, or at the start.
    bool at_any_time = false;
    std::size_t states = 20'000;  ///< the search gives up after this many states
    /// If true, residents may live on the host, or on both host and device, and results may end on the host.
    /// If false, all residents are on the device at both ends.
    bool homes = false;
    std::optional<std::int64_t> host_budget =
        {};  ///< most bytes on the host at any moment; if set, host copies may also be dropped
};

/// Returns the least time of all schedules with a peak of at most `budget` bytes, with any number of reruns
/// and copies. Returns nullopt if there is no schedule, or if none is found within `states` states. At the
/// end all residents must be at their homes, and all copies and host ops must be done. The search is A* over
/// the places of tensors and the times at which running copies are done. It shares no code with the solvers.
/// The graph must have links with speeds, and at most 12 tensors and 16 ops.
std::optional<std::int64_t> brute_force_with_host(const Graph& graph, std::int64_t budget,
                                                  const HostSearch& options = {});

}  // namespace rematlas
