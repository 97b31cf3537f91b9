// The place of each step of a schedule on an axis of time or of runs.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "viz/paint/lane_data.h"

namespace rematlas {

struct StepSpans {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    std::vector<double> begin = {}, end = {};  ///< for each step; begin and end are equal if the step takes
                                               ///< no time

    double middle(int step) const {
        const auto i = static_cast<std::size_t>(step);
        return (begin[i] + end[i]) / 2;
    }
};

/// Returns the spans of a schedule's steps. `simulation` must be the simulation of `steps`; if it is empty,
/// there are no spans. With the axis `steps`, all runs have the same width.
StepSpans step_spans(const std::vector<Step>& steps, const Simulation& simulation, LaneAxis axis);

}  // namespace rematlas
