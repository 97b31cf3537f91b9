// A step of a schedule as a Chrome trace (chrome://tracing, Perfetto): ops on one row, bytes alive as a
// counter.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/replay/executor.h"

namespace rematlas {

/// `measures` belong to `steps` one by one.
std::string chrome_trace(const Graph& graph, const std::vector<Step>& steps,
                         const std::vector<StepMeasure>& measures);

}  // namespace rematlas
