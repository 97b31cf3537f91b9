// Runs solvers on another machine: `rematlas solve` there, on the bytes of the graph that is open here.
#pragma once

#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/loaded/loaded_graph.h"
#include "core/planning/request.h"

namespace rematlas::explorer {

/// Waits for the answer. The other machine stops by itself after the request's time. Must not be called from
/// the GUI's thread. Errors: those of `run_there`; no program rematlas on the host; a schedule that is not of
/// this graph, breaks a pin or is refused by the checker under the budget; a request that the command line cannot express.
Result<Outcome> solve_there(const RemoteHost& host, const LoadedGraph& graph, const SolveRequest& request);

}  // namespace rematlas::explorer
