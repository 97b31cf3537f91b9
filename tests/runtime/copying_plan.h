// Makes schedules with copies for tests: tensors that are not used for long go to the host and come back.
#pragma once

#include <cstdint>

#include "core/schedule/schedule_file.h"

namespace rematlas::test {

struct CopyingOptions {
    bool made = true;       ///< whether tensors that ops make are offloaded between two uses
    bool residents = true;  ///< whether residents leave the device, and are back when the step ends
    bool homes = false;     ///< whether the home of some residents is the host
    bool results = false;   ///< whether some gradients end on the host
    int most = 24;          ///< number of trips (copies to the host and back) that are tried
    std::uint64_t seed = 1;
};

/// Makes a schedule that runs every op once, and in which tensors leave the device. The largest tensors are
/// tried one after the other. For each of them, tries a trip to the host and back at random moments between
/// two uses of the tensor, and keeps the trip if the checker accepts it. The schedule's predicted numbers are
/// the checker's. Replaces the times of the graph's ops, and its links. Copying all tensors to the host once
/// then takes about three times as long as the ops.
Plan copying_plan(const Graph& graph, const CopyingOptions& options = {});

/// Returns how many copies start in the schedule.
int copies_in(const Schedule& schedule);

}  // namespace rematlas::test
