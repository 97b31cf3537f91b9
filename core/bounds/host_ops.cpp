#include "core/bounds/host_ops.h"

#include <utility>

namespace rematlas {
namespace {

/// Returns the lists with only those items for which `stays` returns true.
template <class Stays>
Lists filtered(const Lists& lists, const Stays& stays) {
    Lists kept;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        for (const std::int32_t item : lists[i])
            if (stays(static_cast<int>(i), item)) kept.items.push_back(item);
        kept.begin.push_back(static_cast<std::int32_t>(kept.items.size()));
    }
    return kept;
}

}  // namespace

StepWithoutHostOps step_without_host_ops(const Graph& graph, const FlatGraph& flat) {
    StepWithoutHostOps host{.device = flat, .ops = {}};
    FlatGraph& device = host.device;
    const auto on_host = [&](std::int32_t op) { return graph.ops[OpId(op)].host_time.has_value(); };
    IdVector<TensorId, char> touched(graph.tensors.size(), 0);  // per tensor: whether an op that must run on
                                                                // the device reads or updates it
    for (const OpId id : graph.ops.ids()) {
        if (!flat.required[id.index()] || on_host(id.value)) continue;
        for (const auto* list : {&graph.ops[id].inputs, &graph.ops[id].mutates})
            for (const TensorId t : *list) touched[t] = 1;
    }
    IdVector<TensorId, char> counted(graph.tensors.size(), 0);  // per tensor: whether an op lists it
    for (const OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        if (!op.host_time) continue;
        HostOp& one = host.ops.emplace_back();
        one.time = flat.time[id.index()];
        one.host_time = op.host_time->value;
        for (const std::int32_t t : flat.inputs[id.index()])
            if (!on_host(flat.producer[t])) one.inputs.push_back(t);
        for (const TensorId t : op.mutates)
            if (touched[t] && !std::exchange(counted[t], 1)) one.back.push_back(t.value);
        device.time[id.index()] = device.workspace[id.index()] = 0;
        device.required[id.index()] = 0;
        device.recomputable[id.index()] = 1;
        for (const std::int32_t t : flat.outputs[id.index()]) device.bytes[t] = device.is_result[t] = 0;
    }
    device.inputs = filtered(flat.inputs, [&](std::int32_t op, std::int32_t) { return !on_host(op); });
    device.users = filtered(flat.users, [&](std::int32_t, std::int32_t op) { return !on_host(op); });
    std::erase_if(device.results, [&](std::int32_t t) { return !device.is_result[t]; });
    return host;
}

}  // namespace rematlas
