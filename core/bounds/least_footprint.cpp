#include "core/bounds/least_footprint.h"

#include <algorithm>
#include <set>

namespace rematlas {

PeakBound least_footprint(const Graph& graph, const FlatGraph& flat) {
    PeakBound bound;
    for (OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        if (!flat.required[id.index()] || op.host_time) continue;
        std::set<TensorId> held(op.inputs.begin(), op.inputs.end());
        held.insert(op.mutates.begin(), op.mutates.end());
        held.insert(op.outputs.begin(), op.outputs.end());
        Bytes footprint = op.workspace;
        for (TensorId t : held) footprint += graph.tensors[t].bytes;
        for (const FlatGraph::Pair& pair : flat.inplace_pairs(id.value)) footprint -= Bytes(pair.saved);
        if (footprint <= bound.bytes) continue;
        bound = {footprint, id, {held.begin(), held.end()}};
    }
    std::stable_sort(bound.tensors.begin(), bound.tensors.end(),
                     [&](TensorId a, TensorId b) { return graph.tensors[a].bytes > graph.tensors[b].bytes; });
    return bound;
}

}  // namespace rematlas
