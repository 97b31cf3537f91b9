// Runs solvers on another machine: sends the graph that is open here to the command `rematlas solve` there.
#pragma once

#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/loaded/loaded_graph.h"
#include "core/planning/request.h"

namespace rematlas::explorer {

/// Solves and waits for the answer. The other machine stops by itself when the request's time is over. Must
/// not be called from the GUI's thread. Errors: the errors of `run_there`; no program rematlas on the host; a
/// graph without the text of its file; a request that the command line cannot express; an answer whose
/// schedule is for another graph, breaks a pin, or fails the check.
Result<Outcome> solve_there(const RemoteHost& host, const LoadedGraph& graph, const SolveRequest& request);

}  // namespace rematlas::explorer
