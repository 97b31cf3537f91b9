// Tables about a schedule or a sweep as comma-separated lines (RFC 4180), for spreadsheets and scripts.
// Numbers are exact, with their units in the titles. core/schedule/export.h has the table of steps.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns one line for each block, parents before their children:
/// depth,path,ops,time_ns,made_bytes,peak_bytes,reruns,extra_ns.
Result<std::string> block_table(const Graph& graph, const Schedule& schedule);

/// Returns one line for each tensor: id,name,kind,bytes,op,module,peak_bytes,times_made; `peak_bytes` are the
/// bytes of the tensor that are held at the peak.
Result<std::string> tensor_table(const Graph& graph, const Schedule& schedule);

/// Returns one line for each point: solver,budget_bytes,status,peak_bytes,overhead,bound,gap,offload. Unknown
/// fields are empty.
std::string point_table(const Sweep& sweep);

}  // namespace rematlas
