// A schedule as lanes over time: what runs when, and how much memory is held.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rematlas {

enum class DrawnLane { forward, recompute, backward, waiting, to_host, to_device, on_host };
enum class LaneAxis { time, steps };

/// On the device.
constexpr bool is_of_runs(DrawnLane lane) {
    return lane < DrawnLane::waiting;
}

/// One run of an op, on the device or on the host, one copy, or a time in which a step waits for what is under way.
struct LaneBar {
    double begin = 0, end = 0;  ///< nanoseconds, or a count of runs
    int step =
        0;  ///< that runs, starts the copy or the run on the host, or waits; of a wait for the end, the last one
    DrawnLane lane = DrawnLane::forward;
    Phase phase = Phase::forward;
    /// How many of the first parts of the module path are those of the bar before in the lane; all of them
    /// (`kSameModule`) where the paths are equal.
    int shared = 0;
    int copy =
        -1;  ///< of a wait: the step whose copy or run on the host it is for; -1: a copy that an earlier step of training began

    static constexpr int kSameModule = 1 << 20;
};

/// Memory from x on, up to the next point.
struct MemoryPoint {
    double x = 0;
    std::int64_t bytes = 0;
    int step = 0;  ///< of the schedule
};

struct LaneData {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    std::vector<LaneBar> bars;  ///< by begin
    /// By x. What lasts no time, such as the moment between a free and the next op, is there only where it
    /// rises.
    std::vector<MemoryPoint> memory;
    std::int64_t peak = 0;
    int peak_step = 0;
    std::vector<MemoryPoint>
        host;  ///< what the host holds, where it changes; empty where it never holds anything
    std::int64_t host_peak = 0;
    /// The lanes to show: the first three always, so that pictures can be compared; waits, copies and
    /// runs on the host where there are any.
    std::vector<DrawnLane> lanes = {DrawnLane::forward, DrawnLane::recompute, DrawnLane::backward};
    std::vector<double> step_begin;  ///< per step of the schedule

    /// The run step at x; the nearest one where nothing runs; -1 when there is none.
    int step_at(double x) const;
    double begin_of(int step) const;
    Bytes host_at(double x) const;
    /// What the lane has at x; null: nothing.
    const LaneBar* bar_at(DrawnLane lane, double x) const;
};

/// `simulation` is that of `steps`; an empty one gives empty lanes. The axis `steps` gives each run the same
/// width, and waits none: for graphs whose ops cost nothing or very unequal times. Cost: linear in the steps.
LaneData lane_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                   LaneAxis axis);

/// `time`, unless the step takes no time at all.
LaneAxis natural_axis(const Simulation& simulation);

}  // namespace rematlas
