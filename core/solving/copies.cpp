#include "core/solving/copies.h"

#include <algorithm>
#include <array>

namespace rematlas {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"none", "activations", "weights", "all"};

bool runs_on_host(const Op& op) {
    return op.host_time.has_value();
}

/// Says whether a training program keeps tensors of this kind from step to step and lets the step change
/// them.
bool is_of_training(TensorKind kind) {
    return kind == TensorKind::parameter || kind == TensorKind::optimizer_state;
}

}  // namespace

Result<void> moves_in_training(const Graph& graph, std::span<const Step> steps, const Homes& homes) {
    const IdVector<TensorId, OpId> producer = producers(graph);
    IdVector<TensorId, char> at_home(graph.tensors.size(), 0);
    const auto refuse = [&](TensorId t, const char* why) { return Error{graph.tensors[t].name + " " + why}; };
    for (TensorId t : homes.on_host) {
        if (producer[t].valid())
            return refuse(t, "ends on the host: in training results are handed out on the device");
        if (!is_of_training(graph.tensors[t].kind))
            return refuse(
                t, "lives on the host between steps: in training inputs and buffers are the program's");
        at_home[t] = 1;
    }
    for (const Step& step : steps) {
        if (step.kind == StepKind::run_host)
            return Error{"op " + std::to_string(step.id) +
                         " runs on the host: in training ops run on the device"};
        if (step.names_op() || producer[step.tensor()].valid() || at_home[step.tensor()]) continue;
        return refuse(
            step.tensor(),
            "leaves the device and does not live on the host: in training the program may look at it "
            "while the step is under way");
    }
    return {};
}

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

IdVector<TensorId, char> may_leave(const Graph& graph, const Copies& copies) {
    const Offload what = copies.what;
    // Marks the residents that the step uses (except inputs), the results, and the inputs and outputs of the
    // optimizer's ops.
    IdVector<TensorId, char> of_weights(graph.tensors.size(), 0), made(graph.tensors.size(), 0);
    for (const Op& op : graph.ops)
        for (TensorId t : op.outputs) made[t] = 1;
    for (const Op& op : graph.ops) {
        const bool updates = op.phase == Phase::optimizer;
        for (const auto* list : {&op.inputs, &op.mutates})
            for (TensorId t : *list)
                if (updates || !made[t]) of_weights[t] = graph.tensors[t].kind != TensorKind::input;
        if (updates)
            for (TensorId t : op.outputs) of_weights[t] = 1;
    }
    for (TensorId t : graph.results) of_weights[t] = 1;
    IdVector<TensorId, char> allowed(graph.tensors.size(), 0);
    for (TensorId t : graph.tensors.ids())
        allowed[t] = (moves_activations(what) && made[t]) || (moves_weights(what) && of_weights[t]);
    if (copies.in_training)
        for (TensorId t : graph.tensors.ids())
            if (!made[t] && !is_of_training(graph.tensors[t].kind)) allowed[t] = 0;
    for (TensorId t : copies.held) allowed[t] = 0;
    return allowed;
}

IdVector<TensorId, char> may_end_on_host(const Graph& graph, const Copies& copies) {
    IdVector<TensorId, char> allowed(graph.tensors.size(), 0);
    if (copies.in_training) return allowed;
    for (TensorId t : graph.results)
        allowed[t] = moves_weights(copies.what) && graph.tensors[t].kind == TensorKind::gradient;
    return allowed;
}

Result<void> keeps_to(const Graph& graph, const Copies& copies, const Schedule& schedule) {
    const Offload what = copies.what;
    const IdVector<TensorId, char> allowed = may_leave(graph, copies);
    const auto refuse = [&](const std::string& done) {
        return Error{done + ", where copies may be of " + std::string(to_string(what)) + " alone"};
    };
    if (copies.in_training)
        if (Result<void> possible = moves_in_training(graph, schedule.steps, schedule.homes); !possible)
            return possible;
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
