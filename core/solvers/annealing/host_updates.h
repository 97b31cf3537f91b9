// Finds the ops of the optimizer that can run on the host, for the search with copies.
//
// Such an op takes no time and no bytes of the device. The tensors that it reads are copied to the host and
// do not come back. Parameters that it updates live on the host: they are fetched before their first use, and
// are not copied to the host again. The optimizer states of the op are always on the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/solving/solver.h"

namespace rematlas::annealing {

struct HostUpdates {
    struct Run {
        std::int32_t op = -1;
        std::int64_t time = 0;             ///< nanoseconds on the host
        std::vector<std::int32_t> inputs;  ///< tensors that the op reads and that are made on the device
        /// Residents that the op updates after ops on the device have read them.
        std::vector<std::int32_t> updated;
    };
    std::vector<Run> runs;  ///< in the graph's order
    /// Residents that only ops on the host use; they are always on the host.
    std::vector<std::int32_t> there;
    /// Residents that no op changes and that are read both by ops on the device and by ops on the host. They
    /// are always in both places.
    std::vector<std::int32_t> both;
};

/// By op: whether it may run on the host. Empty if no op may run there.
using UpdateChoice = std::vector<std::uint8_t>;

/// Returns the ops of `chosen` that can run on the host. Such an op makes no tensors. Each tensor that it
/// reads must be worth a copy (`may_leave`, by tensor), and so must each resident that it updates if other
/// ops read this resident. No other op may update this resident, or read it after the op. Cost: linear.
HostUpdates host_updates(const Problem& problem, std::span<const std::uint8_t> may_leave,
                         const UpdateChoice& chosen);

}  // namespace rematlas::annealing
