// Makes schedules with copies for tests: tensors that are idle for long go to the host and come back.
#pragma once

#include <cstdint>

#include "core/schedule/schedule_file.h"

namespace rematlas::test {

struct CopyingOptions {
    bool made = true;       ///< tensors that ops make are offloaded between two uses
    bool residents = true;  ///< residents leave the device, and are back at the end
    bool homes = false;     ///< some residents live on the host
    bool results = false;   ///< some gradients end on the host
    int most = 24;          ///< number of trips that are tried
    std::uint64_t seed = 1;
};

/// Adds links to the graph, on which a step's tensors take a few times as long as its ops. Makes a schedule
/// that runs every op once and offloads tensors: it contains each trip that the checker accepts, at random
/// moments within the gap. The schedule's predicted numbers are the checker's.
Plan copying_plan(const Graph& graph, const CopyingOptions& options = {});

/// Returns how many copies start in the schedule.
int copies_in(const Schedule& schedule);

}  // namespace rematlas::test
