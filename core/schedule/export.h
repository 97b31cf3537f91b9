// A schedule in other forms, for other tools. Each function simulates the steps; errors are the simulator's.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Chrome's trace event format. Each run, copy, run on the host and wait of the device is a complete event
/// at the time at which it happens. Counters show the memory of the device and, where the host holds
/// anything, of the host. Times are in microseconds.
Result<std::string> chrome_trace(const Graph& graph, const Schedule& schedule);

/// One line a step: index,step,id,name,module,phase,start_ns,end_ns,during_bytes,after_bytes. The times of a
/// copy and of a run on the host are those at which it begins and ends, which may be after later steps.
/// Bytes are those of the device during the step's own turn and after it.
Result<std::string> step_table(const Graph& graph, const Schedule& schedule);

/// The runs as a Graphviz graph: one node a run, edges by data, recomputations dashed.
Result<std::string> dot_graph(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
