#include "viz/paint/step_spans.h"

#include <algorithm>

namespace rematlas {

StepSpans step_spans(const std::vector<Step>& steps, const Simulation& simulation, LaneAxis axis) {
    StepSpans spans{.axis = axis};
    double runs = 0;
    for (std::size_t i = 0; i < simulation.steps.size(); ++i) {
        const StepTrace& trace = simulation.steps[i];
        double begin = static_cast<double>(trace.start.value), end = static_cast<double>(trace.end.value);
        if (axis == LaneAxis::steps) {
            begin = runs;
            if (steps[i].runs()) ++runs;
            end = runs;
        }
        spans.begin.push_back(begin);
        spans.end.push_back(end);
        spans.length = std::max(spans.length, end);
    }
    if (axis == LaneAxis::time)
        spans.length = std::max(spans.length, static_cast<double>(simulation.time.value));
    return spans;
}

}  // namespace rematlas
