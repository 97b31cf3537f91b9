// A schedule of a loaded graph with its simulation, its check, and what it decides for each op and tensor.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
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
    Simulation simulation;       ///< empty when the steps are not executable
    std::filesystem::path path;  ///< empty for one that was solved here and not yet saved

    Decisions decisions;           ///< runs of ops, fates of tensors
    IdVector<OpId, Decision> ops;  ///< offload where an output is offloaded, else by the op's runs
    IdVector<OpId, std::vector<int>> steps_of;  ///< indices of the op's run steps
    Nanoseconds extra_time;                     ///< of the runs after the first
    int reruns = 0;

    bool ok() const { return report.ok(); }
};
using SchedulePtr = std::shared_ptr<const LoadedSchedule>;

/// Checks, simulates and derives. Cost: linear in the steps.
SchedulePtr prepare_schedule(GraphPtr graph, Schedule schedule, std::filesystem::path path = {});

/// The same schedule on the same graph in other blocks (`in_blocks_of`).
SchedulePtr on_graph(const LoadedSchedule& schedule, GraphPtr graph);

/// Time of a block's runs after the first, over the time of one run of each of its ops.
double recomputed_share(const LoadedSchedule& schedule, BlockId block);

/// The step of the range during which the most is held; -1 for a schedule that cannot be played.
int heaviest_step(const LoadedSchedule& schedule, const StepRange& range);

/// What runs when, for painting. Empty for a schedule that cannot be played.
LaneData lanes_of(const LoadedSchedule& schedule, LaneAxis axis);

/// The schedule that runs each op once and frees each tensor after its last use.
Schedule keep_all_schedule(const LoadedGraph& graph);

}  // namespace rematlas::explorer
