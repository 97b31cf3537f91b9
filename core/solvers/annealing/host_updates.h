// The ops of the optimizer that can run on the host, as the search with copies needs them.
//
// Such an op takes no time and no bytes of the device. The tensors that it reads are copied to the host and
// do not come back. Parameters that it updates live on the host; they are fetched before they are first read
// and need no copy back. The optimizer states of the op never leave the host.
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
        std::vector<std::int32_t> inputs;   ///< tensors that ops on the device make
        std::vector<std::int32_t> updated;  ///< residents that ops on the device read before the update
    };
    std::vector<Run> runs;            ///< in the graph's order
    std::vector<std::int32_t> there;  ///< residents that only ops on the host touch: always on the host
    std::vector<std::int32_t>
        both;  ///< residents that are only read, also on the device: always in both places
};

/// By op: whether it may run on the host. Empty if no op may.
using UpdateChoice = std::vector<std::uint8_t>;

/// Finds the ops of `chosen` that can run on the host. The tensors that such an op reads must be worth a
/// copy (`may_leave`, by tensor), and so must the residents that it updates and other ops read. No other op
/// may update the same residents, or read them later. The op must make no tensors. Cost: linear.
HostUpdates host_updates(const Problem& problem, std::span<const std::uint8_t> may_leave,
                         const UpdateChoice& chosen);

}  // namespace rematlas::annealing
