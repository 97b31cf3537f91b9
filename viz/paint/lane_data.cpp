#include "viz/paint/lane_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/schedule/waits.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

DrawnLane lane_of_run(const Op& op, bool rerun) {
    if (rerun) return DrawnLane::recompute;
    return op.phase == Phase::forward || op.phase == Phase::loss ? DrawnLane::forward : DrawnLane::backward;
}

/// Returns how many parts two module paths have in common at their beginnings.
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
    LaneMaker(const Graph& graph, LaneAxis axis)
        : graph_(graph), queues_(queues_of(graph)), ran_(graph.ops.size(), 0) {
        data.axis = axis;
        data.queues = queues_.names;
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
        if (data.host.empty() || data.host.back().bytes != trace.host.value)
            data.host.push_back({begin, trace.host.value, index});
        data.length = std::max(data.length, end);
    }

    /// Adds a copy, a run on the host or a collective. May be called only after all steps were added. On the
    /// axis `steps` a collective is in the lane of runs.
    void add(const Step& step, const SideTrace& beside) {
        if (data.axis == LaneAxis::steps && beside.queue == SideQueue::collective) return;
        LaneBar bar{.begin = static_cast<double>(beside.start.value),
                    .end = static_cast<double>(beside.end.value),
                    .step = static_cast<int>(beside.step),
                    .lane = lane_of(step, beside.queue)};
        if (step.names_op()) bar.phase = graph_.ops[step.op()].phase;
        if (data.axis == LaneAxis::steps) bar.begin = data.step_begin[beside.step], bar.end = bar.begin + 1;
        data.bars.push_back(bar);
        data.length = std::max(data.length, bar.end);
        show(bar.lane);
    }

    /// Adds a wait. May be called only after all steps were added. On the axis `steps` there are no waits.
    void add(const Wait& wait) {
        if (data.axis != LaneAxis::time) return;
        data.bars.push_back({.begin = static_cast<double>(wait.start.value),
                             .end = static_cast<double>(wait.end.value),
                             .step = wait.step,
                             .lane = DrawnLane::waiting,
                             .copy = wait.for_step});
        data.length = std::max(data.length, static_cast<double>(wait.end.value));
        show(DrawnLane::waiting);
    }

    void end(const Simulation& simulation) {
        data.host_peak = simulation.host_peak.value;
        if (data.host_peak == 0) data.host.clear();
    }

    LaneData data;

  private:
    void show(DrawnLane lane) {
        if (std::find(data.lanes.begin(), data.lanes.end(), lane) == data.lanes.end())
            data.lanes.push_back(lane);
    }

    DrawnLane lane_of(const Step& step, SideQueue queue) const {
        switch (queue) {
            case SideQueue::to_host:
                return DrawnLane::to_host;
            case SideQueue::to_device:
                return DrawnLane::to_device;
            case SideQueue::host:
                return DrawnLane::on_host;
            case SideQueue::collective:
                break;
        }
        return lane_of_queue(queues_.of[step.op()]);
    }

    void run(OpId id, int index, double begin, double end) {
        const Op& op = graph_.ops[id];
        if (data.axis == LaneAxis::time && op.collective) return;
        DrawnLane lane = lane_of_run(op, ran_[id]++ > 0);
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
    const Queues queues_;
    IdVector<OpId, int> ran_;
    std::array<OpId, 3> last_;  ///< for each lane of runs: the last op that ran in it
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
    for (const Wait& wait : waits_of(steps, simulation)) maker.add(wait);
    for (const SideTrace& beside : simulation.beside) maker.add(steps[beside.step], beside);
    maker.end(simulation);
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
        if (is_of_runs(after->lane)) return after->step;
    }
    return bars.empty() ? -1 : bars.front().step;
}

Bytes LaneData::host_at(double x) const {
    const auto after = std::upper_bound(host.begin(), host.end(), x,
                                        [](double at, const MemoryPoint& p) { return at < p.x; });
    return Bytes(after == host.begin() ? 0 : std::prev(after)->bytes);
}

const LaneBar* LaneData::bar_at(DrawnLane lane, double x) const {
    auto after = std::upper_bound(bars.begin(), bars.end(), x,
                                  [](double at, const LaneBar& bar) { return at < bar.begin; });
    while (after != bars.begin()) {
        --after;
        // Bars of one lane do not overlap.
        if (after->lane == lane) return x <= after->end ? &*after : nullptr;
    }
    return nullptr;
}

double LaneData::begin_of(int step) const {
    return step >= 0 && step < static_cast<int>(step_begin.size()) ? step_begin[step] : 0;
}

Axis lane_axis(LaneAxis kind, double from, double to, double length, double left, double width) {
    if (to <= from) from = 0, to = length;
    const int count = std::max(2, static_cast<int>(width / 105));
    return kind == LaneAxis::time ? time_axis(from, to, left, left + width, count)
                                  : count_axis(from, to, "runs", left, left + width, count);
}

std::string lane_label(LaneAxis kind, const Axis& axis, const Tick& tick) {
    return kind == LaneAxis::steps ? filled(say("Picture", "run %1"), {tick.label})
                                   : tick.label + " " + axis.unit;
}

}  // namespace rematlas
