// Writes a schedule in formats of other tools. Each function simulates the steps; its errors are the
// simulator's.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns the schedule in Chrome's trace event format. Each run, copy, run on the host and wait of the
/// device is a complete event at its simulated time. Counters show the memory of the device, and of the host
/// if it holds anything. Times are in microseconds.
Result<std::string> chrome_trace(const Graph& graph, const Schedule& schedule);

/// Returns a CSV table with one line per step:
/// index,step,id,name,module,phase,start_ns,end_ns,during_bytes,after_bytes. The times of a copy, or of a run
/// on the host, say when it really begins and ends; this can be after the times of later lines. The two
/// columns of bytes count the bytes on the device during the step itself and after it.
Result<std::string> step_table(const Graph& graph, const Schedule& schedule);

/// Returns the runs as a Graphviz graph. Each run is a node, data flow gives the edges, and recomputations
/// are dashed.
Result<std::string> dot_graph(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
