// A schedule as lanes over time: the times of ops, copies and waits, and the bytes that are held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "viz/paint/axis.h"

namespace rematlas {

/// From `first_queue` on there is a lane for each queue of collectives.
enum class DrawnLane { forward, recompute, backward, waiting, to_host, to_device, on_host, first_queue };
enum class LaneAxis { time, steps };

constexpr DrawnLane lane_of_queue(int queue) {
    return static_cast<DrawnLane>(static_cast<int>(DrawnLane::first_queue) + queue);
}

/// Says whether the lane has runs on the device.
constexpr bool is_of_runs(DrawnLane lane) {
    return lane < DrawnLane::waiting;
}

/// One bar of a lane: a run of an op on the device or on the host, a copy, a collective, or a wait. In a wait
/// the device waits for a copy, for a run on the host or for a collective.
struct LaneBar {
    double begin = 0, end = 0;  ///< nanoseconds, or numbers of runs, depending on the axis
    int step =
        0;  ///< the step that runs, starts the copy or the run on the host, or waits; for a wait at the end,
            ///< the last step
    DrawnLane lane = DrawnLane::forward;
    Phase phase = Phase::forward;
    /// The number of leading parts of the module path that this bar shares with the previous bar of the lane;
    /// `kSameModule` if the paths are equal.
    int shared = 0;
    int copy = -1;  ///< for a wait: the step whose work is awaited; -1: a copy that the previous training
                    ///< step began

    static constexpr int kSameModule = 1 << 20;
};

/// The memory from `x` up to the `x` of the next point.
struct MemoryPoint {
    double x = 0;
    std::int64_t bytes = 0;
    int step = 0;  ///< step of the schedule
};

struct LaneData {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    std::vector<LaneBar> bars;  ///< sorted by `begin`
    /// Sorted by `x`. A moment that takes no time, such as the moment between a free and the next op, has a
    /// point only if the memory is higher than at the point before.
    std::vector<MemoryPoint> memory;
    std::int64_t peak = 0;
    int peak_step = 0;
    std::vector<MemoryPoint> host;  ///< bytes on the host, at each change; empty if there are never any
    std::int64_t host_peak = 0;
    std::vector<std::string> queues;  ///< names of the queues of collectives
    /// The lanes to show. The lanes for runs on the device are always shown, so that pictures can be
    /// compared. The other lanes are shown if they have bars.
    std::vector<DrawnLane> lanes = {DrawnLane::forward, DrawnLane::recompute, DrawnLane::backward};
    std::vector<double> step_begin;  ///< for each step of the schedule: its begin on the axis

    /// Returns the step of the last run that begins at or before x. If there is none, returns the step of the
    /// first bar, or -1 without bars.
    int step_at(double x) const;
    double begin_of(int step) const;
    Bytes host_at(double x) const;
    /// Returns the bar of the lane at x, or null if there is none.
    const LaneBar* bar_at(DrawnLane lane, double x) const;
};

/// Returns the lanes of a schedule. `simulation` must be the simulation of `steps`; if it is empty, the lanes
/// are empty. With the axis `steps`, all runs have the same width and there are no waits. This axis is for
/// graphs whose ops have no times or very different times. Cost: linear in the steps.
LaneData lane_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                   LaneAxis axis);

/// Returns `time`, or `steps` if the step takes no time.
LaneAxis natural_axis(const Simulation& simulation);

/// Returns the axis between two places, or from 0 to `length` if `to` is not above `from`. The ticks are
/// about 105 points apart.
Axis lane_axis(LaneAxis kind, double from, double to, double length, double left, double width);

/// Returns the label of a tick with the unit: "12 ms", or "run 12".
std::string lane_label(LaneAxis kind, const Axis& axis, const Tick& tick);

}  // namespace rematlas
