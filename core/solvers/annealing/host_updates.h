// Ops of the optimizer that run on the host: which ones can, as the search with copies has them.
//
// Such an op takes no time and no bytes of the device. What it reads goes out and does not come back;
// parameters that it updates live on the host, are fetched before they are first read, and need not go out
// again; its states never move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/solving/solver.h"

namespace rematlas::annealing {

struct HostUpdates {
    struct Run {
        std::int32_t op = -1;
        std::int64_t time = 0;              ///< nanoseconds on the host
        std::vector<std::int32_t> inputs;   ///< that ops on the device make
        std::vector<std::int32_t> updated;  ///< residents that ops on the device read before
    };
    std::vector<Run> runs;            ///< in the graph's order
    std::vector<std::int32_t> there;  ///< residents that nothing else touches: on the host all the time
    std::vector<std::int32_t>
        both;  ///< residents that are only read, on the device too: in both places all the time
};

/// Updates by op: whether it may run on the host. As a graph has ops, or empty where none may.
using UpdateChoice = std::vector<std::uint8_t>;

/// All of these that can. What they read, and update for others, must be worth a copy (`may_leave`, by
/// tensor); nothing else may update the same residents, or read them later; and nobody may need what they
/// make. Cost: linear.
HostUpdates host_updates(const Problem& problem, std::span<const std::uint8_t> may_leave,
                         const UpdateChoice& chosen);

}  // namespace rematlas::annealing
