// A schedule in other forms, for other tools. Each function simulates the steps; errors are the simulator's.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Chrome's trace event format: one complete event a run, a counter for the memory. Times in microseconds.
Result<std::string> chrome_trace(const Graph& graph, const Schedule& schedule);

/// One line a step: index,step,id,name,module,phase,start_ns,end_ns,during_bytes,after_bytes.
Result<std::string> step_table(const Graph& graph, const Schedule& schedule);

/// The runs as a Graphviz graph: one node a run, edges by data, recomputations dashed.
Result<std::string> dot_graph(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
