// Where each step of a schedule lies on an axis of time, or of runs.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "viz/paint/lane_data.h"

namespace rematlas {

struct StepSpans {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    std::vector<double> begin = {}, end = {};  ///< by step; equal for what takes no time

    double middle(int step) const {
        const auto i = static_cast<std::size_t>(step);
        return (begin[i] + end[i]) / 2;
    }
};

/// `simulation` is that of `steps`; an empty one gives no spans. The axis `steps` gives each run the same
/// width.
StepSpans step_spans(const std::vector<Step>& steps, const Simulation& simulation, LaneAxis axis);

}  // namespace rematlas
