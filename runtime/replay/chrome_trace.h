// Writes a training step that ran by a schedule as a Chrome trace (chrome://tracing, Perfetto): the ops as
// one row, the live bytes as a counter.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/replay/executor.h"

namespace rematlas {

/// Returns the trace as JSON. `measures[i]` belongs to `steps[i]`.
std::string chrome_trace(const Graph& graph, const std::vector<Step>& steps,
                         const std::vector<StepMeasure>& measures);

}  // namespace rematlas
