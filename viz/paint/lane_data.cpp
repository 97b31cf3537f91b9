#include "viz/paint/lane_data.h"

#include <algorithm>
#include <array>
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

/// Makes the bars step by step.
class LaneMaker {
  public:
    LaneMaker(const Graph& graph, LaneAxis axis) : graph_(graph), ran_(graph.ops.size(), 0) {
        data.axis = axis;
    }

    void add(const Step& step, const StepTrace& trace) {
        bool timed = data.axis == LaneAxis::time;
        double begin = timed ? static_cast<double>(trace.start.value) : runs_, end = begin;
        int index = static_cast<int>(data.step_begin.size());
        if (step.runs()) {
            end = timed ? static_cast<double>(trace.end.value) : ++runs_;
            run(step.op(), index, begin, end);
        }
        data.step_begin.push_back(begin);
        remember(begin, end, {begin, trace.during.value, index});
        data.length = std::max(data.length, end);
    }

    /// After all steps.
    void add(const SideTrace& copy) {
        if (copy.queue == SideQueue::host) return;
        LaneBar bar{.begin = static_cast<double>(copy.start.value),
                    .end = static_cast<double>(copy.end.value),
                    .step = static_cast<int>(copy.step),
                    .lane = copy.queue == SideQueue::to_host ? Lane::to_host : Lane::to_device};
        if (data.axis == LaneAxis::steps) bar.begin = data.step_begin[copy.step], bar.end = bar.begin + 1;
        data.bars.push_back(bar);
        data.length = std::max(data.length, bar.end);
        if (std::find(data.lanes.begin(), data.lanes.end(), bar.lane) == data.lanes.end())
            data.lanes.push_back(bar.lane);
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

    void remember(double begin, double end, const MemoryPoint& point) {
        if (begin == end && !data.memory.empty() && point.bytes <= data.memory.back().bytes) return;
        data.memory.push_back(point);
    }

    const Graph& graph_;
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
    for (const SideTrace& copy : simulation.beside) maker.add(copy);
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
