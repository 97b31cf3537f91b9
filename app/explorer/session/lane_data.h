// A schedule as lanes over time: what runs when, and how much memory is held.
#pragma once

#include <cstdint>
#include <vector>

#include "app/explorer/session/loaded_schedule.h"

namespace rematlas::explorer {

enum class Lane { forward, recompute, backward, to_host, to_device };
enum class LaneAxis { time, steps };

struct LaneBar {
    double begin = 0, end = 0;  ///< nanoseconds, or a count of runs
    int step = 0;
    Lane lane = Lane::forward;
    Phase phase = Phase::forward;
};

/// Memory from x on, up to the next point.
struct MemoryPoint {
    double x = 0;
    std::int64_t bytes = 0;
    int step = 0;
};

struct LaneData {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    std::vector<LaneBar> bars;        ///< by begin
    std::vector<MemoryPoint> memory;  ///< by x
    std::int64_t peak = 0;
    int peak_step = 0;
    bool copies = false;             ///< whether the two lanes of copies hold anything
    std::vector<double> step_begin;  ///< per step of the schedule

    /// The run step at x; the nearest one where nothing runs; -1 when there is none.
    int step_at(double x) const;
    double begin_of(int step) const;
};

/// `steps` gives each run the same width: for graphs whose ops cost nothing or very unequal times.
/// Empty when the schedule cannot be simulated. Cost: linear in the steps.
LaneData lane_data(const LoadedSchedule& schedule, LaneAxis axis);

/// `time`, unless the step takes no time at all.
LaneAxis natural_axis(const LoadedSchedule& schedule);

}  // namespace rematlas::explorer
