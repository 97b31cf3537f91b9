// The exact simulator: time and memory of a list of steps. Solvers and views use it; the checker does not.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/side_queues.h"

namespace rematlas {

/// Time and memory of one step of the schedule.
struct StepTrace {
    Nanoseconds start, end;  ///< start == end if the step takes no compute time, as for collectives
    Bytes during;            ///< bytes on the device while the step runs: live tensors, outputs and workspace
    Bytes after;             ///< bytes on the device after the step
    Bytes host;              ///< bytes on the host after the step
};

/// A copy that an offload or a fetch started, a run on the host, or a collective.
struct SideTrace {
    std::size_t step = 0;
    SideQueue queue = SideQueue::to_host;
    Nanoseconds start, end;  ///< if cyclic, the end can be after `Simulation::time`, in the next repetition
};

struct Simulation {
    Nanoseconds time;
    Bytes peak;
    std::size_t peak_step = 0;  ///< the first step that reaches the peak
    Bytes host_peak;
    std::vector<StepTrace> steps;
    std::vector<SideTrace> beside;  ///< in the order of the steps that started the work
};

/// Simulates the steps by the rules of docs/concepts/schedules.md. With cyclic homes, the traces are from the
/// repetition that determines the time, and their times count from the start of this repetition. Otherwise
/// the rules for the end of the training step are not checked, so that a part of a schedule can be simulated.
/// Copies use `links`, or the links of the graph's device if `links` is absent. Fails at the first step that
/// is not possible; the message names the index of this step.
Result<Simulation> simulate(const Graph& graph, const std::vector<Step>& steps, const Homes& homes = {},
                            const std::optional<Links>& links = {});
Result<Simulation> simulate(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
