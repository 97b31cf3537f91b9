// A schedule of a loaded graph, together with the results of its simulation and its check, and the decision
// for each op and tensor.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "app/explorer/loaded/loaded_graph.h"
#include "app/explorer/loaded/step_range.h"
#include "core/checking/check.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "viz/block_view/block_view.h"
#include "viz/paint/lane_data.h"

namespace rematlas::explorer {

struct LoadedSchedule {
    GraphPtr graph;
    Schedule schedule;
    CheckReport report;
    Simulation simulation;       ///< empty if the steps cannot be executed
    std::filesystem::path path;  ///< empty if the schedule was solved here and is not saved yet

    Decisions decisions;           ///< the number of runs of each op, and the decision for each tensor
    IdVector<OpId, Decision> ops;  ///< for each op: offload if one of its outputs is offloaded, else
                                   ///< recompute if the op runs several times, else keep
    IdVector<OpId, std::vector<int>> steps_of;  ///< for each op, the indices of the steps that run it
    Nanoseconds extra_time;                     ///< time of all runs except the first run of each op
    int reruns = 0;

    bool ok() const { return report.ok(); }
};
using SchedulePtr = std::shared_ptr<const LoadedSchedule>;

/// Checks and simulates the schedule. Cost: linear in the steps.
SchedulePtr prepare_schedule(GraphPtr graph, Schedule schedule, std::filesystem::path path = {});

/// Returns the same schedule for a graph that is equal, but grouped into other blocks (`in_blocks_of`).
SchedulePtr on_graph(const LoadedSchedule& schedule, GraphPtr graph);

/// Returns the time of the reruns of a block's ops, divided by the time that these ops take if each runs
/// once. If the ops take no time, returns the number of reruns divided by the number of ops.
double recomputed_share(const LoadedSchedule& schedule, BlockId block);

/// Returns the step of the range in which the most bytes are held; -1 if the schedule cannot be simulated.
int heaviest_step(const LoadedSchedule& schedule, const StepRange& range);

/// Returns the bars of the schedule's lanes, for painting. Returns no bars if the schedule cannot be
/// simulated.
LaneData lanes_of(const LoadedSchedule& schedule, LaneAxis axis);

/// Returns the schedule that runs each op once and frees each tensor after its last use.
Schedule keep_all_schedule(const LoadedGraph& graph);

}  // namespace rematlas::explorer
