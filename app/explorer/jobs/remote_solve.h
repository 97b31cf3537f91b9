// Solvers that run on another machine: `rematlas solve` there, on the bytes of the graph that is open here.
#pragma once

#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/loaded/loaded_graph.h"
#include "core/planning/request.h"

namespace rematlas::explorer {

/// Waits for the answer; the machine gives up after the request's time by itself. For threads other than the
/// GUI's. Errors: those of `run_there`; no program rematlas there; an answer that is no schedule of this
/// graph, is above the budget or breaks a pin; a request that the command line cannot be asked.
Result<Outcome> solve_there(const RemoteHost& host, const LoadedGraph& graph, const SolveRequest& request);

}  // namespace rematlas::explorer
