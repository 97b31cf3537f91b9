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

/// Adds links to the graph. On these links, copying all tensors once takes a few times as long as the ops.
/// Makes a schedule that runs every op once and offloads tensors: it contains each trip that the checker
/// accepts, at random moments between two uses of the tensor. The schedule's predicted numbers are the
/// checker's.
Plan copying_plan(const Graph& graph, const CopyingOptions& options = {});

/// Returns how many copies start in the schedule.
int copies_in(const Schedule& schedule);

}  // namespace rematlas::test
