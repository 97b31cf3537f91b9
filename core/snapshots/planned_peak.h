// What a plan holds at its peak, to be told apart from what was measured.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/snapshots/peak_differences.h"

namespace rematlas {

/// The tensors on the device during a step, and the workspace of the op that runs, by name. `step` is
/// one of the schedule, which can be played on the graph.
std::vector<PlannedBytes> planned_during(const Graph& graph, const Schedule& schedule, std::size_t step);

/// Returns what the plan holds at the step with the most bytes. Errors: the first step that cannot be played.
Result<std::vector<PlannedBytes>> planned_at_peak(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
