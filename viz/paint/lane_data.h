// A schedule as lanes over time: what runs when, and how much memory is held.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rematlas {

enum class Lane { forward, recompute, backward, to_host, to_device };
enum class LaneAxis { time, steps };

/// One run of an op, or one copy.
struct LaneBar {
    double begin = 0, end = 0;  ///< nanoseconds, or a count of runs
    int step = 0;
    Lane lane = Lane::forward;
    Phase phase = Phase::forward;
    /// How many of the first parts of the module path are those of the bar before in the lane; all of them
    /// (`kSameModule`) where the paths are equal.
    int shared = 0;

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
    /// The lanes to show: the first three always, so that pictures can be compared; copies where there are
    /// any.
    std::vector<Lane> lanes = {Lane::forward, Lane::recompute, Lane::backward};
    std::vector<double> step_begin;  ///< per step of the schedule

    /// The run step at x; the nearest one where nothing runs; -1 when there is none.
    int step_at(double x) const;
    double begin_of(int step) const;
};

/// `simulation` is that of `steps`; an empty one gives empty lanes. The axis `steps` gives each run the same
/// width: for graphs whose ops cost nothing or very unequal times. Cost: linear in the steps.
LaneData lane_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                   LaneAxis axis);

/// `time`, unless the step takes no time at all.
LaneAxis natural_axis(const Simulation& simulation);

}  // namespace rematlas
