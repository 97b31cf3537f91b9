#include "core/solving/copies.h"

#include <algorithm>
#include <array>

namespace rematlas {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"none", "activations", "weights", "all"};

bool runs_on_host(const Op& op) {
    return op.host_time.has_value();
}

}  // namespace

std::string_view to_string(Offload what) {
    return kNames[static_cast<std::size_t>(what)];
}

std::optional<Offload> offload_from(std::string_view text) {
    const auto found = std::find(kNames.begin(), kNames.end(), text);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Offload>(found - kNames.begin());
}

ScheduleClass class_within(const Graph& graph, Offload what) {
    if (what == Offload::none) return ScheduleClass::any_order;
    if (what == Offload::activations) return ScheduleClass::with_activation_copies;
    const bool host_ops = std::any_of(graph.ops.begin(), graph.ops.end(), runs_on_host);
    return host_ops ? ScheduleClass::with_host_ops : ScheduleClass::with_copies;
}

IdVector<TensorId, char> may_leave(const Graph& graph, Offload what) {
    // Of weights: all that the step finds or leaves behind, and what updates are made of.
    IdVector<TensorId, char> of_weights(graph.tensors.size(), 1), made(graph.tensors.size(), 0);
    for (const Op& op : graph.ops)
        for (TensorId t : op.outputs) {
            made[t] = 1;
            of_weights[t] = op.phase == Phase::optimizer;
        }
    for (const Op& op : graph.ops) {
        if (op.phase != Phase::optimizer) continue;
        for (TensorId t : op.inputs) of_weights[t] = 1;
    }
    for (TensorId t : graph.results) of_weights[t] = 1;
    IdVector<TensorId, char> allowed(graph.tensors.size(), 0);
    for (TensorId t : graph.tensors.ids())
        allowed[t] = (moves_activations(what) && made[t]) || (moves_weights(what) && of_weights[t]);
    return allowed;
}

IdVector<TensorId, char> may_end_on_host(const Graph& graph, Offload what) {
    IdVector<TensorId, char> allowed(graph.tensors.size(), 0);
    for (TensorId t : graph.results)
        allowed[t] = moves_weights(what) && graph.tensors[t].kind == TensorKind::gradient;
    return allowed;
}

Result<void> keeps_to(const Graph& graph, Offload what, const Schedule& schedule) {
    const IdVector<TensorId, char> allowed = may_leave(graph, what);
    const auto refuse = [&](const std::string& done) {
        return Error{done + ", where copies may be of " + std::string(to_string(what)) + " alone"};
    };
    if (!moves_weights(what) && !schedule.homes.on_host.empty())
        return refuse("tensor " + std::to_string(schedule.homes.on_host.front().value) +
                      " lives on the host");
    for (const Step& step : schedule.steps) {
        if (step.kind == StepKind::run_host && !moves_weights(what))
            return refuse("op " + std::to_string(step.id) + " runs on the host");
        if (step.kind == StepKind::offload && !allowed[step.tensor()])
            return refuse("tensor " + std::to_string(step.id) + " is copied");
    }
    return {};
}

}  // namespace rematlas
