#include "core/graph/flat_graph.h"

#include <algorithm>

namespace rematlas {
namespace {

void append_op(FlatGraph& flat, const Op& op) {
    std::vector<std::int32_t> inputs, outputs;
    for (TensorId t : op.inputs) {
        if (flat.producer[t.index()] >= 0) inputs.push_back(t.value);
    }
    for (TensorId t : op.outputs) outputs.push_back(t.value);
    flat.inputs.append_sorted(std::move(inputs));
    flat.outputs.append_sorted(std::move(outputs));
    flat.time.push_back(op.time.value);
    flat.workspace.push_back(op.workspace.value);
    flat.recomputable.push_back(op.recomputable);
}

/// Appends the in-place pairs of the op. An op runs in place with all of its pairs or with none, so no pair
/// is appended if one input must not be overwritten. A result may be overwritten if its maker may run again
/// afterwards, or with `from_host`, because then a copy of the result may be fetched.
void append_inplace(FlatGraph& flat, const Op& op, bool from_host) {
    const bool possible = std::all_of(op.inplace.begin(), op.inplace.end(), [&](const InplacePair& pair) {
        const std::int32_t maker = flat.producer[pair.in.index()];
        return maker >= 0 && (from_host || !flat.is_result[pair.in.index()] || flat.recomputable[maker]);
    });
    if (possible) {
        for (const InplacePair& pair : op.inplace) {
            flat.inplace.push_back({pair.out.value, pair.in.value,
                                    std::min(flat.bytes[pair.out.index()], flat.bytes[pair.in.index()])});
        }
    }
    flat.inplace_begin.push_back(static_cast<std::int32_t>(flat.inplace.size()));
}

/// Marks the required ops. An op is required if one of these holds: its phase is not forward; it may run only
/// once; it mutates residents; it makes a result; it is an ancestor of a required op.
void mark_required(FlatGraph& flat, const Graph& graph) {
    flat.required.assign(flat.op_count, 0);
    for (int op = flat.op_count - 1; op >= 0; --op) {
        const Op& source = graph.ops[OpId(op)];
        bool required = flat.required[op] || source.phase != Phase::forward || !source.recomputable ||
                        !source.mutates.empty();
        for (std::int32_t t : flat.outputs[op]) required = required || flat.is_result[t];
        if (!required) continue;
        flat.required[op] = 1;
        for (std::int32_t t : flat.inputs[op]) flat.required[flat.producer[t]] = 1;
    }
}

}  // namespace

void Lists::append_sorted(std::vector<std::int32_t> list) {
    std::sort(list.begin(), list.end());
    items.insert(items.end(), list.begin(), list.end());
    begin.push_back(static_cast<std::int32_t>(items.size()));
}

void collect_users(FlatGraph& flat) {
    std::vector<std::int32_t> count(flat.tensor_count + 1, 0);
    for (std::int32_t t : flat.inputs.items) ++count[t + 1];
    for (int t = 0; t < flat.tensor_count; ++t) count[t + 1] += count[t];
    flat.users.begin = count;
    flat.users.items.resize(flat.inputs.items.size());
    for (int op = 0; op < flat.op_count; ++op) {
        for (std::int32_t t : flat.inputs[op]) flat.users.items[count[t]++] = op;
    }
}

FlatGraph flatten(const Graph& graph) {
    FlatGraph flat;
    flat.op_count = static_cast<int>(graph.ops.size());
    flat.tensor_count = static_cast<int>(graph.tensors.size());
    flat.producer.assign(flat.tensor_count, -1);
    flat.is_result.assign(flat.tensor_count, 0);
    for (OpId op : graph.ops.ids()) {
        for (TensorId t : graph.ops[op].outputs) flat.producer[t.index()] = op.value;
    }
    for (TensorId t : graph.tensors.ids()) {
        flat.bytes.push_back(graph.tensors[t].bytes.value);
        if (flat.producer[t.index()] < 0) flat.resident_bytes += graph.tensors[t].bytes.value;
    }
    for (TensorId t : graph.results) {
        if (flat.producer[t.index()] < 0) continue;
        flat.is_result[t.index()] = 1;
        flat.results.push_back(t.value);
    }
    for (const Op& op : graph.ops) append_op(flat, op);
    flat.base_time = base_time(graph).value;
    for (const Op& op : graph.ops) append_inplace(flat, op, false);
    if (graph.boundary) flat.boundary = graph.boundary->value;
    collect_users(flat);
    mark_required(flat, graph);
    return flat;
}

FlatGraph with_results_from_host(const Graph& graph, FlatGraph flat) {
    flat.inplace.clear();
    flat.inplace_begin.resize(1);
    for (const Op& op : graph.ops) append_inplace(flat, op, true);
    return flat;
}

PeakBound least_peak(const FlatGraph& graph) {
    PeakBound bound;
    bound.bytes = Bytes(graph.resident_bytes);
    std::int64_t results = graph.resident_bytes;
    for (std::int32_t t : graph.results) results += graph.bytes[t];
    std::vector<std::int32_t> held = graph.results;
    if (results > bound.bytes.value) bound.bytes = Bytes(results);
    for (int op = 0; op < graph.op_count; ++op) {
        if (!graph.required[op]) continue;
        const std::int64_t footprint = graph.resident_bytes + graph.footprint(op);
        if (footprint <= bound.bytes.value) continue;
        bound.bytes = Bytes(footprint);
        bound.op = OpId(op);
    }
    if (bound.op.valid()) {
        held.assign(graph.inputs[bound.op.index()].begin(), graph.inputs[bound.op.index()].end());
        const auto outputs = graph.outputs[bound.op.index()];
        held.insert(held.end(), outputs.begin(), outputs.end());
    } else {
        bound.op = OpId(graph.op_count - 1);
    }
    for (int t = 0; t < graph.tensor_count; ++t) {
        if (graph.producer[t] < 0) held.push_back(t);
    }
    std::stable_sort(held.begin(), held.end(), [&](int a, int b) { return graph.bytes[a] > graph.bytes[b]; });
    for (std::int32_t t : held) bound.tensors.push_back(TensorId(t));
    return bound;
}

}  // namespace rematlas
