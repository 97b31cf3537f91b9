#include "app/explorer/session/lane_data.h"

#include <algorithm>

namespace rematlas::explorer {
namespace {

Lane lane_of(const Op& op, bool rerun) {
    if (rerun) return Lane::recompute;
    return op.phase == Phase::forward ? Lane::forward : Lane::backward;
}

/// Copies run beside compute; their length is drawn from the link's speed where the graph tells it.
LaneBar copy_bar(const LoadedSchedule& schedule, int index, double begin, double unit) {
    const Step& step = schedule.schedule.steps[index];
    const auto& device = schedule.graph->graph.device;
    const bool out = step.kind == StepKind::offload;
    const double speed = !device ? 0
                         : out   ? device->to_host_bytes_per_second
                                 : device->to_device_bytes_per_second;
    const double bytes = static_cast<double>(schedule.graph->graph.tensors[step.tensor()].bytes.value);
    const double length = speed > 0 && unit == 0 ? bytes / speed * 1e9 : unit;
    return {.begin = begin,
            .end = begin + length,
            .step = index,
            .lane = out ? Lane::to_host : Lane::to_device,
            .phase = Phase::forward};
}

}  // namespace

LaneAxis natural_axis(const LoadedSchedule& schedule) {
    return schedule.simulation.time.value > 0 ? LaneAxis::time : LaneAxis::steps;
}

LaneData lane_data(const LoadedSchedule& schedule, LaneAxis axis) {
    LaneData data;
    data.axis = axis;
    const Graph& graph = schedule.graph->graph;
    const std::vector<StepTrace>& trace = schedule.simulation.steps;
    IdVector<OpId, char> ran(graph.ops.size(), 0);
    double count = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) {
        const Step& step = schedule.schedule.steps[i];
        const int index = static_cast<int>(i);
        const double begin = axis == LaneAxis::time ? static_cast<double>(trace[i].start.value) : count;
        double end = axis == LaneAxis::time ? static_cast<double>(trace[i].end.value) : count;
        if (step.runs()) {
            if (axis == LaneAxis::steps) end = ++count;
            const Op& op = graph.ops[step.op()];
            data.bars.push_back({begin, end, index, lane_of(op, ran[step.op()]), op.phase});
            ran[step.op()] = 1;
        } else if (step.kind != StepKind::free) {
            data.bars.push_back(copy_bar(schedule, index, begin, axis == LaneAxis::time ? 0 : 1));
            data.copies = true;
        }
        data.step_begin.push_back(begin);
        data.memory.push_back({begin, trace[i].during.value, index});
        data.memory.push_back({end, trace[i].after.value, index});
        data.length = std::max(data.length, end);
    }
    data.peak = schedule.simulation.peak.value;
    data.peak_step = static_cast<int>(schedule.simulation.peak_step);
    return data;
}

int LaneData::step_at(double x) const {
    auto after = std::upper_bound(bars.begin(), bars.end(), x,
                                  [](double at, const LaneBar& bar) { return at < bar.begin; });
    while (after != bars.begin()) {
        --after;
        if (after->lane != Lane::to_host && after->lane != Lane::to_device) return after->step;
    }
    return bars.empty() ? -1 : bars.front().step;
}

double LaneData::begin_of(int step) const {
    return step >= 0 && step < static_cast<int>(step_begin.size()) ? step_begin[step] : 0;
}

}  // namespace rematlas::explorer
