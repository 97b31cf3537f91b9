#include "core/snapshots/planned_peak.h"

#include "core/schedule/held.h"
#include "core/schedule/simulate.h"

namespace rematlas {

std::vector<PlannedBytes> planned_during(const Graph& graph, const Schedule& schedule, std::size_t step) {
    const Held held = held_during(graph, schedule.steps, step, schedule.homes);
    std::vector<PlannedBytes> planned;
    for (const HeldTensor& tensor : held.tensors)
        planned.push_back({tensor.bytes, graph.tensors[tensor.tensor].name});
    if (held.workspace.value > 0 && schedule.steps[step].names_op())
        planned.push_back({held.workspace, "workspace of " + graph.ops[schedule.steps[step].op()].name});
    return planned;
}

Result<std::vector<PlannedBytes>> planned_at_peak(const Graph& graph, const Schedule& schedule) {
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return played.error();
    if (played->steps.empty()) return std::vector<PlannedBytes>();
    return planned_during(graph, schedule, played->peak_step);
}

}  // namespace rematlas
