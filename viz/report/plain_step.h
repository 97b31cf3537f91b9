// The step without recomputation as a schedule, for comparison with planned schedules.
#pragma once

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

Schedule plain_step(const Graph& graph);

}  // namespace rematlas
