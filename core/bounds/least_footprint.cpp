#include "core/bounds/least_footprint.h"

#include <algorithm>
#include <limits>
#include <set>

namespace rematlas {
namespace {

/// Returns the sum, or the largest number if the sum would overflow.
Bytes plus(Bytes a, Bytes b) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return Bytes(a.value > most - b.value ? most : a.value + b.value);
}

PeakBound less(PeakBound bound, Bytes on_host) {
    bound.bytes = std::max(bound.bytes - on_host, Bytes(0));
    return bound;
}

FlatGraph without_workspaces_of_host(const Graph& graph, FlatGraph flat) {
    for (const OpId id : graph.ops.ids())
        if (graph.ops[id].host_time) flat.workspace[id.index()] = 0;
    return flat;
}

}  // namespace

PeakBound least_footprint(const Graph& graph, const FlatGraph& flat) {
    PeakBound bound;
    for (OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        if (!flat.required[id.index()] || op.host_time) continue;
        std::set<TensorId> held(op.inputs.begin(), op.inputs.end());
        held.insert(op.mutates.begin(), op.mutates.end());
        held.insert(op.outputs.begin(), op.outputs.end());
        Bytes footprint = op.workspace - Bytes(flat.saved_in_place(id.value));
        for (TensorId t : held) footprint += graph.tensors[t].bytes;
        if (footprint <= bound.bytes) continue;
        bound = {footprint, id, {held.begin(), held.end()}};
    }
    std::stable_sort(bound.tensors.begin(), bound.tensors.end(),
                     [&](TensorId a, TensorId b) { return graph.tensors[a].bytes > graph.tensors[b].bytes; });
    return bound;
}

PeakBound least_peak_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host) {
    return less(least_peak(without_workspaces_of_host(graph, flat)), on_host);
}

PeakBound least_memory_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host,
                                   LeastMemoryLimits limits) {
    const bool overwrites_several =
        std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) { return op.inplace.size() > 1; });
    if (overwrites_several) return least_peak_beside_host(graph, flat, on_host);
    if (limits.budget) limits.budget = plus(*limits.budget, on_host);
    return less(least_memory(without_workspaces_of_host(graph, flat), limits), on_host);
}

}  // namespace rematlas
