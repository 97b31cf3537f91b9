// The tensors that a plan holds at its peak, for a comparison with a measured peak.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/snapshots/peak_differences.h"

namespace rematlas {

/// Returns the names and bytes of the tensors on the device during a step, and of the workspace of the op
/// that runs. `step` must be the index of a step of the schedule, and the schedule must be valid for the
/// graph.
std::vector<PlannedBytes> planned_during(const Graph& graph, const Schedule& schedule, std::size_t step);

/// Returns the result of `planned_during` for the step with the most bytes. Errors: the first step that
/// cannot be simulated.
Result<std::vector<PlannedBytes>> planned_at_peak(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
