#include "viz/paint/lane_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace rematlas {

namespace {

Lane lane_of(const Op& op, bool rerun) {
    if (rerun) return Lane::recompute;
    return op.phase == Phase::forward || op.phase == Phase::loss ? Lane::forward : Lane::backward;
}

/// Parts, between dots, that two module paths begin with alike.
int shared_parts(std::string_view a, std::string_view b) {
    if (a == b) return LaneBar::kSameModule;
    int parts = 0;
    for (std::size_t i = 0;; ++i) {
        bool a_ends = i >= a.size() || a[i] == '.', b_ends = i >= b.size() || b[i] == '.';
        if (a_ends && b_ends) ++parts;
        if (i >= a.size() || i >= b.size() || a[i] != b[i]) return parts;
    }
}

/// When copies run: on one link each way, each after the one before it, as the simulator has it.
class Links {
  public:
    explicit Links(const Graph& graph) : graph_(graph) {}

    LaneBar offload(TensorId t, double now) {
        LaneBar bar = copy(t, std::max(now, host_free_), graph_.device->to_host_bytes_per_second);
        bar.lane = Lane::to_host;
        host_free_ = on_host_[t] = bar.end;
        return bar;
    }
    LaneBar fetch(TensorId t, double now) {
        LaneBar bar =
            copy(t, std::max({now, device_free_, on_host_[t]}), graph_.device->to_device_bytes_per_second);
        bar.lane = Lane::to_device;
        device_free_ = bar.end;
        return bar;
    }

  private:
    LaneBar copy(TensorId t, double start, double speed) const {
        double length = std::round(static_cast<double>(graph_.tensors[t].bytes.value) / speed * 1e9);
        return {.begin = start, .end = start + length};
    }
    const Graph& graph_;
    double host_free_ = 0, device_free_ = 0;
    std::map<TensorId, double> on_host_;
};

/// Makes the bars step by step.
class LaneMaker {
  public:
    LaneMaker(const Graph& graph, LaneAxis axis) : graph_(graph), links_(graph), ran_(graph.ops.size(), 0) {
        data.axis = axis;
    }

    void add(const Step& step, const StepTrace& trace) {
        bool timed = data.axis == LaneAxis::time;
        double begin = timed ? static_cast<double>(trace.start.value) : runs_, end = begin;
        int index = static_cast<int>(data.step_begin.size());
        if (step.runs()) {
            end = timed ? static_cast<double>(trace.end.value) : ++runs_;
            run(step.op(), index, begin, end);
        } else if (step.kind == StepKind::offload || step.kind == StepKind::fetch) {
            copy(step, index, begin);
        }
        data.step_begin.push_back(begin);
        remember(begin, end, {begin, trace.during.value, index});
        data.length = std::max(data.length, end);
    }

    LaneData data;

  private:
    void run(OpId id, int index, double begin, double end) {
        const Op& op = graph_.ops[id];
        Lane lane = lane_of(op, ran_[id]++ > 0);
        OpId& last = last_[static_cast<std::size_t>(lane)];
        int shared = last.valid() ? shared_parts(graph_.ops[last].module, op.module) : 0;
        data.bars.push_back({begin, end, index, lane, op.phase, shared});
        last = id;
    }

    void copy(const Step& step, int index, double begin) {
        bool out = step.kind == StepKind::offload;
        LaneBar bar = out ? links_.offload(step.tensor(), begin) : links_.fetch(step.tensor(), begin);
        if (data.axis == LaneAxis::steps) bar.begin = begin, bar.end = begin + 1;
        bar.step = index;
        data.bars.push_back(bar);
        if (std::find(data.lanes.begin(), data.lanes.end(), bar.lane) == data.lanes.end())
            data.lanes.push_back(bar.lane);
    }

    void remember(double begin, double end, const MemoryPoint& point) {
        if (begin == end && !data.memory.empty() && point.bytes <= data.memory.back().bytes) return;
        data.memory.push_back(point);
    }

    const Graph& graph_;
    Links links_;
    IdVector<OpId, int> ran_;
    std::array<OpId, 5> last_;  ///< by lane
    double runs_ = 0;
};

}  // namespace

LaneAxis natural_axis(const Simulation& simulation) {
    return simulation.time.value > 0 ? LaneAxis::time : LaneAxis::steps;
}

LaneData lane_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                   LaneAxis axis) {
    LaneMaker maker(graph, axis);
    for (std::size_t i = 0; i < simulation.steps.size(); ++i) maker.add(steps[i], simulation.steps[i]);
    LaneData& data = maker.data;
    std::stable_sort(data.bars.begin(), data.bars.end(),
                     [](const LaneBar& a, const LaneBar& b) { return a.begin < b.begin; });
    std::sort(data.lanes.begin(), data.lanes.end());
    data.peak = simulation.peak.value;
    data.peak_step = static_cast<int>(simulation.peak_step);
    return std::move(maker.data);
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

}  // namespace rematlas
