#include "app/explorer/loaded/loaded_schedule.h"

#include <algorithm>
#include <iterator>

#include "core/planning/solve_with_queues.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::explorer {
namespace {

void derive_steps(LoadedSchedule& loaded) {
    const Graph& graph = loaded.graph->graph;
    loaded.steps_of.resize(graph.ops.size());
    for (std::size_t i = 0; i < loaded.schedule.steps.size(); ++i) {
        const Step& step = loaded.schedule.steps[i];
        if (!step.runs() || !graph.ops.contains(step.op())) continue;
        std::vector<int>& steps = loaded.steps_of[step.op()];
        if (!steps.empty()) {
            loaded.extra_time += graph.ops[step.op()].time;
            ++loaded.reruns;
        }
        steps.push_back(static_cast<int>(i));
    }
}

Decision op_decision(const LoadedSchedule& loaded, OpId op) {
    for (TensorId tensor : loaded.graph->graph.ops[op].outputs) {
        if (loaded.decisions.tensors[tensor] == Decision::offload) return Decision::offload;
    }
    return loaded.decisions.runs[op] > 1 ? Decision::recompute : Decision::keep;
}

}  // namespace

SchedulePtr prepare_schedule(GraphPtr graph, Schedule schedule, std::filesystem::path path) {
    auto loaded = std::make_shared<LoadedSchedule>();
    loaded->graph = std::move(graph);
    loaded->schedule = std::move(schedule);
    loaded->path = std::move(path);
    loaded->report = check(loaded->graph->graph, loaded->schedule);
    if (Result<Simulation> simulation = simulate(loaded->graph->graph, loaded->schedule)) {
        loaded->simulation = simulation.take();
    }
    derive_steps(*loaded);
    loaded->decisions = decisions_of(loaded->graph->graph, loaded->schedule.steps);
    for (OpId op : loaded->graph->graph.ops.ids()) loaded->ops.push_back(op_decision(*loaded, op));
    return loaded;
}

SchedulePtr on_graph(const LoadedSchedule& schedule, GraphPtr graph) {
    auto other = std::make_shared<LoadedSchedule>(schedule);
    other->graph = std::move(graph);
    return other;
}

double recomputed_share(const LoadedSchedule& schedule, BlockId block) {
    const LoadedGraph& graph = *schedule.graph;
    const std::int64_t once = graph.facts[block].time.value;
    std::int64_t extra = 0, reruns = 0;
    for (OpId op : ops_under(graph, block)) {
        const int more = std::max(0, schedule.decisions.runs[op] - 1);
        extra += more * graph.graph.ops[op].time.value;
        reruns += more;
    }
    if (once > 0) return static_cast<double>(extra) / static_cast<double>(once);
    return graph.facts[block].ops > 0 ? static_cast<double>(reruns) / graph.facts[block].ops : 0.0;
}

int heaviest_step(const LoadedSchedule& schedule, const StepRange& range) {
    const std::vector<StepTrace>& steps = schedule.simulation.steps;
    if (steps.empty()) return -1;
    if (range.all()) return static_cast<int>(schedule.simulation.peak_step);
    const auto begin = steps.begin() + std::min<std::ptrdiff_t>(range.first, std::ssize(steps) - 1);
    const auto end = steps.begin() + std::min<std::ptrdiff_t>(range.last + 1, std::ssize(steps));
    const auto most =
        std::max_element(begin, std::max(begin + 1, end),
                         [](const StepTrace& a, const StepTrace& b) { return a.during < b.during; });
    return static_cast<int>(most - steps.begin());
}

LaneData lanes_of(const LoadedSchedule& schedule, LaneAxis axis) {
    return lane_data(schedule.graph->graph, schedule.schedule.steps, schedule.simulation, axis);
}

Schedule keep_all_schedule(const LoadedGraph& graph) {
    Solution kept = all_kept(graph.graph, graph.flat);
    const bool has_bound = !has_queues(graph.graph);
    return {.graph = graph.graph.name,
            .graph_sha256 = graph.graph.sha256,
            .solver = "keep-all",
            .config = nullptr,
            .budget = keep_all_peak(graph.flat),
            .time = kept.time,
            .overhead = kept.overhead,
            .peak = kept.peak,
            .bound = has_bound
                         ? std::optional(Bound{.overhead = 1.0, .gap = 0.0, .over = ScheduleClass::any_order})
                         : std::nullopt,
            .status = has_bound ? "optimal" : "feasible",
            .solve_seconds = 0,
            .steps = std::move(kept.steps)};
}

}  // namespace rematlas::explorer
