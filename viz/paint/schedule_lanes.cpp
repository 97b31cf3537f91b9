#include "viz/paint/schedule_lanes.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace rematlas {

namespace {

/// The first `level` parts of a module path.
std::string prefix(const std::string& path, int level) {
    std::size_t end = 0;
    for (int i = 0; i < level; ++i) {
        end = path.find('.', i == 0 ? 0 : end + 1);
        if (end == std::string::npos) return path;
    }
    return path.substr(0, end);
}

int stretches(const Graph& graph, int level) {
    int count = 0;
    std::string last = "\n";
    for (const Op& op : graph.ops) {
        if (op.phase != Phase::forward) continue;
        std::string module = prefix(op.module, level);
        if (module != last) ++count;
        last = module;
    }
    return count;
}

int level_for(const Graph& graph, int max_modules) {
    int level = 1;
    while (level < 12 && stretches(graph, level + 1) <= max_modules) ++level;
    return level;
}

LaneKind lane_of(Phase phase) {
    switch (phase) {
        case Phase::forward:
            return LaneKind::forward;
        case Phase::loss:
            return LaneKind::loss;
        case Phase::backward:
            return LaneKind::backward;
        case Phase::optimizer:
            return LaneKind::optimizer;
    }
    return LaneKind::forward;
}

/// When copies run: on one link each way, each after the one before it, as the simulator has it.
class Links {
  public:
    explicit Links(const Graph& graph) : graph_(graph) {}

    LaneSpan offload(TensorId t, Nanoseconds now) {
        LaneSpan span =
            copy(LaneKind::to_host, t, std::max(now, host_free_), graph_.device->to_host_bytes_per_second);
        host_free_ = on_host_[t] = span.end;
        return span;
    }
    LaneSpan fetch(TensorId t, Nanoseconds now) {
        LaneSpan span = copy(LaneKind::to_device, t, std::max({now, device_free_, on_host_[t]}),
                             graph_.device->to_device_bytes_per_second);
        device_free_ = span.end;
        return span;
    }

  private:
    LaneSpan copy(LaneKind kind, TensorId t, Nanoseconds start, double speed) const {
        const Tensor& tensor = graph_.tensors[t];
        Nanoseconds end =
            start + Nanoseconds(std::llround(static_cast<double>(tensor.bytes.value) / speed * 1e9));
        return {kind, start, end, tensor.name};
    }
    const Graph& graph_;
    Nanoseconds host_free_, device_free_;
    std::map<TensorId, Nanoseconds> on_host_;
};

}  // namespace

std::vector<LaneSpan> lane_spans(const Graph& graph, const std::vector<Step>& steps,
                                 const Simulation& simulation, int max_modules) {
    int level = level_for(graph, max_modules);
    IdVector<OpId, int> runs(graph.ops.size(), 0);
    std::vector<LaneSpan> spans, copies;
    Links links(graph);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const StepTrace& trace = simulation.steps[i];
        if (steps[i].kind == StepKind::offload)
            copies.push_back(links.offload(steps[i].tensor(), trace.start));
        if (steps[i].kind == StepKind::fetch) copies.push_back(links.fetch(steps[i].tensor(), trace.start));
        if (!steps[i].runs()) continue;
        const Op& op = graph.ops[steps[i].op()];
        LaneKind kind = runs[steps[i].op()]++ > 0 ? LaneKind::recompute : lane_of(op.phase);
        std::string module = prefix(op.module, level);
        bool joins = !spans.empty() && spans.back().kind == kind && spans.back().module == module &&
                     spans.back().end == trace.start;
        if (joins) {
            spans.back().end = trace.end;
            ++spans.back().steps;
        } else {
            spans.push_back({kind, trace.start, trace.end, module});
        }
    }
    spans.insert(spans.end(), copies.begin(), copies.end());
    std::stable_sort(spans.begin(), spans.end(),
                     [](const LaneSpan& a, const LaneSpan& b) { return a.start < b.start; });
    return spans;
}

}  // namespace rematlas
