// The step without recomputation as a schedule, beside those that were planned.
#pragma once

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

Schedule plain_step(const Graph& graph);

}  // namespace rematlas
