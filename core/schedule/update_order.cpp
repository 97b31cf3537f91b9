#include "core/schedule/update_order.h"

#include <algorithm>

namespace rematlas {

std::vector<Update> updates_of(const Graph& graph) {
    IdVector<TensorId, std::vector<OpId>> readers(graph.tensors.size());
    std::vector<Update> updates;
    for (OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        Update update{.op = id};
        for (TensorId written : op.mutates)
            update.readers.insert(update.readers.end(), readers[written].begin(), readers[written].end());
        std::sort(update.readers.begin(), update.readers.end());
        update.readers.erase(std::unique(update.readers.begin(), update.readers.end()), update.readers.end());
        if (!update.readers.empty()) updates.push_back(std::move(update));
        for (TensorId read : op.inputs) readers[read].push_back(id);
    }
    return updates;
}

InOrderOfUpdates in_order_of_updates(const Graph& graph) {
    InOrderOfUpdates ordered{.graph = graph};
    IdVector<TensorId, OpId> last_to_touch(graph.tensors.size()), updated_by(graph.tensors.size());
    IdVector<TensorId, std::vector<OpId>> readers(graph.tensors.size());
    for (OpId id : graph.ops.ids())
        for (const auto* touched : {&graph.ops[id].inputs, &graph.ops[id].mutates})
            for (TensorId t : *touched) last_to_touch[t] = id;
    IdVector<OpId, TensorId> done(graph.ops.size());
    const auto comes_after = [&](OpId before, OpId id) {
        if (before == id) return;
        ordered.differs = true;
        if (!done[before].valid()) {
            done[before] = ordered.graph.tensors.push_back(
                {"after:" + graph.ops[before].name, Bytes(0), TensorKind::activation});
            ordered.graph.ops[before].outputs.push_back(done[before]);
        }
        auto& inputs = ordered.graph.ops[id].inputs;
        if (std::find(inputs.begin(), inputs.end(), done[before]) == inputs.end())
            inputs.push_back(done[before]);
    };
    for (OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        for (const auto* touched : {&op.inputs, &op.mutates})
            for (TensorId t : *touched)
                if (updated_by[t].valid()) comes_after(updated_by[t], id);
        for (TensorId t : op.mutates) {
            if (last_to_touch[t] != id) {
                for (OpId reader : readers[t]) {
                    if (reader == id) continue;
                    comes_after(reader, id);
                    ordered.runs_once = ordered.runs_once || ordered.graph.ops[reader].recomputable;
                    ordered.graph.ops[reader].recomputable = false;
                }
            }
            updated_by[t] = id;
            readers[t].clear();
        }
        for (TensorId t : op.inputs) readers[t].push_back(id);
    }
    return ordered;
}

RunSequence behind_readers(std::span<const Update> updates, std::size_t ops, RunSequence runs) {
    if (updates.empty()) return runs;
    constexpr std::size_t never = ~std::size_t{0};
    std::vector<std::size_t> first(ops, never), last(ops, 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto op = static_cast<std::size_t>(runs[i]);
        first[op] = std::min(first[op], i);
        last[op] = i;
    }
    std::vector<std::vector<std::int32_t>> behind(runs.size());
    std::vector<std::uint8_t> waits(ops, 0);
    for (const Update& update : updates) {
        const std::size_t at = first[update.op.index()];
        std::size_t end = 0;
        for (OpId reader : update.readers)
            if (first[reader.index()] != never) end = std::max(end, last[reader.index()]);
        if (at == never || end <= at) continue;
        behind[end].push_back(update.op.value);
        waits[update.op.index()] = true;
    }
    RunSequence ordered;
    ordered.reserve(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!waits[static_cast<std::size_t>(runs[i])]) ordered.push_back(runs[i]);
        ordered.insert(ordered.end(), behind[i].begin(), behind[i].end());
    }
    return ordered;
}

RunSequence behind_readers(const Graph& graph, RunSequence runs) {
    return behind_readers(updates_of(graph), graph.ops.size(), std::move(runs));
}

Reordered with_last(const Graph& graph, std::span<const OpId> updates) {
    IdVector<OpId, std::uint8_t> waits(graph.ops.size(), 0);
    for (OpId update : updates) waits[update] = true;
    Reordered last{.graph = graph, .op_of = {}};
    for (OpId op : graph.ops.ids())
        if (!waits[op]) last.op_of.push_back(op);
    last.op_of.insert(last.op_of.end(), updates.begin(), updates.end());
    IdVector<OpId, OpId> moved(graph.ops.size());
    IdVector<OpId, Op> ops;
    for (OpId op : last.op_of) moved[op] = ops.push_back(graph.ops[op]);
    for (Op& op : ops)
        if (op.of) op.of = moved[*op.of];
    for (Block& block : last.graph.blocks)
        for (OpId& op : block.ops) op = moved[op];

    IdVector<OpId, std::uint8_t> awaited(ops.size(), 0);
    const IdVector<TensorId, OpId> made_by = producers(graph);
    const std::size_t others = ops.size() - updates.size();
    for (OpId op : ops.ids())
        for (TensorId read : ops[op].inputs)
            if (op.index() < others && made_by[read].valid()) awaited[moved[made_by[read]]] = true;
    for (OpId op : ops.ids()) {
        if (op.index() >= others) break;
        if (awaited[op]) continue;
        last.graph.tensors.push_back({"end:" + ops[op].name, Bytes(0), TensorKind::gradient});
        const TensorId end(last.graph.tensors.size() - 1);
        ops[op].outputs.push_back(end);
        for (std::size_t update = others; update < ops.size(); ++update)
            ops[OpId(update)].inputs.push_back(end);
    }
    last.graph.ops = std::move(ops);
    return last;
}

}  // namespace rematlas
