// The exact simulator: time and memory of a list of steps. Solvers and views use it; the checker does not.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/side_queues.h"

namespace rematlas {

/// Time and memory of one step of the schedule.
struct StepTrace {
    Nanoseconds start, end;  ///< start == end for steps that take no compute time
    Bytes during;  ///< device bytes held while it runs: everything alive, its outputs and its workspace
    Bytes after;   ///< device bytes alive after it
    Bytes host;    ///< bytes held on the host after it
};

/// A copy that an offload or a fetch started, or a run on the host.
struct SideTrace {
    std::size_t step = 0;
    SideQueue queue = SideQueue::to_host;
    Nanoseconds start, end;  ///< of cyclic steps, the end may lie in the next step, after `Simulation::time`
};

struct Simulation {
    Nanoseconds time;
    Bytes peak;
    std::size_t peak_step = 0;  ///< the first step that reaches the peak
    Bytes host_peak;
    std::vector<StepTrace> steps;
    std::vector<SideTrace> beside;  ///< in the order of their steps
};

/// Plays the steps by the rules of core/schedule/README.md. Traces of cyclic steps are those of the
/// repetition that gives the time, from its start on. The rules for the end of the step are checked for
/// cyclic steps alone, so that a part of a schedule can be played. Copies go over `links`, or over the links
/// of the graph's device where `links` is empty. Errors: the first step that is not possible, named by its
/// index.
Result<Simulation> simulate(const Graph& graph, const std::vector<Step>& steps, const Homes& homes = {},
                            const std::optional<Links>& links = {});
Result<Simulation> simulate(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
