// A schedule in other forms, for other tools. Each function simulates the steps; errors are the simulator's.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Chrome's trace event format: a complete event for each run, copy, run on the host and wait of the device, when it
/// really is; counters for the memory of the device and, where it holds anything, of the host. Times in microseconds.
Result<std::string> chrome_trace(const Graph& graph, const Schedule& schedule);

/// One line a step: index,step,id,name,module,phase,start_ns,end_ns,during_bytes,after_bytes. The times of a copy and of
/// a run on the host are those at which it really begins and ends, which may be after steps further down; bytes are those
/// of the device while the step takes its turn and after it.
Result<std::string> step_table(const Graph& graph, const Schedule& schedule);

/// The runs as a Graphviz graph: one node a run, edges by data, recomputations dashed.
Result<std::string> dot_graph(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
