// Runs solvers on another machine: sends the graph that is open here to the command `rematlas solve` there.
#pragma once

#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/loaded/loaded_graph.h"
#include "core/planning/request.h"

namespace rematlas::explorer {

/// Solves and waits for the answer. The other machine stops by itself when the request's time is over. Must
/// not be called from the GUI's thread. Fails as `run_there` does, or if the host has no program rematlas, if
/// `graph.text` is empty, if the command line cannot express the request, or if the schedule in the answer is
/// for another graph, breaks a pin or does not pass the check.
Result<Outcome> solve_there(const RemoteHost& host, const LoadedGraph& graph, const SolveRequest& request);

}  // namespace rematlas::explorer
