// What is known of a schedule or a sweep as comma-separated lines (RFC 4180), for spreadsheets and scripts: exact numbers,
// with their units in the titles. The table of steps is core/schedule/export.h's.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// A line a block, parents before their children: depth,path,ops,time_ns,made_bytes,peak_bytes,reruns,extra_ns.
Result<std::string> block_table(const Graph& graph, const Schedule& schedule);

/// A line a tensor: id,name,kind,bytes,op,module,peak_bytes,times_made; `peak_bytes` is held at the peak.
Result<std::string> tensor_table(const Graph& graph, const Schedule& schedule);

/// A line a point: solver,budget_bytes,status,peak_bytes,overhead,bound,gap; empty where it is not known.
std::string point_table(const Sweep& sweep);

}  // namespace rematlas
