// Schedules with copies for tests: what lies idle longest and is heaviest goes to the host and comes back.
#pragma once

#include <cstdint>

#include "core/schedule/schedule_file.h"

namespace rematlas::test {

struct CopyingOptions {
    bool made = true;       ///< what ops make is away between two uses
    bool residents = true;  ///< residents leave the device, and are back at the end
    bool homes = false;     ///< some residents live on the host
    bool results = false;   ///< some gradients end there
    int most = 24;          ///< trips that are tried
    std::uint64_t seed = 1;
};

/// The graph with links on which a step's tensors take a few times as long as its ops, and a schedule of every
/// op once in which tensors are away: each trip that the checker accepts, at moments chosen at random within
/// the gap. What is predicted is what the checker finds.
Plan copying_plan(const Graph& graph, const CopyingOptions& options = {});

/// How many copies start in the schedule.
int copies_in(const Schedule& schedule);

}  // namespace rematlas::test
