#include "core/solvers/offmate/optimizer_ops.h"

#include <algorithm>

namespace rematlas::offmate {
namespace {

bool updates(const Graph& graph, int op) {
    return graph.ops[OpId(op)].phase == Phase::optimizer;
}

/// Returns, by tensor, the ops that read or change it.
std::vector<std::vector<std::int32_t>> touched_by(const Graph& graph) {
    std::vector<std::vector<std::int32_t>> touching(graph.tensors.size());
    for (OpId op : graph.ops.ids())
        for (const auto* list : {&graph.ops[op].inputs, &graph.ops[op].mutates})
            for (TensorId t : *list) touching[t.index()].push_back(op.value);
    return touching;
}

}  // namespace

bool optimizer_is_last(const Graph& graph, const FlatGraph& flat) {
    const auto touching = touched_by(graph);
    for (OpId op : graph.ops.ids()) {
        if (!updates(graph, op.value)) continue;
        for (const auto* list : {&graph.ops[op].outputs, &graph.ops[op].mutates})
            for (TensorId t : *list)
                for (const int other : touching[t.index()])
                    if (other > op.value && !updates(graph, other) && flat.required[other]) return false;
    }
    return true;
}

FlatGraph without_optimizer(const Graph& graph, const FlatGraph& flat) {
    FlatGraph part = flat;
    part.results.clear();
    for (const int t : flat.results)
        if (!updates(graph, flat.producer[t])) part.results.push_back(t);
    for (int op = 0; op < flat.op_count; ++op) {
        if (!updates(graph, op)) continue;
        part.base_time -= flat.time[op];
        part.required[op] = 0;
        for (const int t : flat.inputs[op]) {
            if (!flat.required[op] || updates(graph, flat.producer[t]) || part.is_result[t]) continue;
            part.is_result[t] = 1;
            part.bytes[t] = 0;
            part.results.push_back(t);
        }
        for (const int t : flat.outputs[op]) part.is_result[t] = 0;
    }
    std::sort(part.results.begin(), part.results.end());
    // A tensor that has become a result must stay. So an op that would overwrite it must not run in place.
    std::vector<FlatGraph::Pair> pairs;
    std::vector<std::int32_t> begin{0};
    for (int op = 0; op < flat.op_count; ++op) {
        const auto own = flat.inplace_pairs(op);
        const bool possible = std::all_of(own.begin(), own.end(), [&](const FlatGraph::Pair& pair) {
            return part.is_result[pair.in] == flat.is_result[pair.in];
        });
        if (possible) pairs.insert(pairs.end(), own.begin(), own.end());
        begin.push_back(static_cast<std::int32_t>(pairs.size()));
    }
    part.inplace = std::move(pairs);
    part.inplace_begin = std::move(begin);
    return part;
}

std::vector<PlacedRun> with_optimizer(const Graph& graph, const FlatGraph& flat, const RunSequence& runs,
                                      const std::vector<char>& on_host) {
    constexpr int kNever = -1;
    std::vector<int> first(flat.op_count, kNever), last(flat.op_count, kNever);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        last[runs[i]] = static_cast<int>(i);
        if (first[runs[i]] == kNever) first[runs[i]] = last[runs[i]];
    }
    const auto touching = touched_by(graph);
    std::vector<std::vector<std::int32_t>> after(runs.size() + 1);  // [1 + run]: optimizer ops after that
                                                                    // run, in the graph's order
    for (int op = 0; op < flat.op_count; ++op) {
        if (!updates(graph, op) || !flat.required[op]) continue;
        int at = kNever;
        for (const int t : flat.inputs[op]) at = std::max(at, first[flat.producer[t]]);
        const Op& own = graph.ops[OpId(op)];
        for (const auto* list : {&own.inputs, &own.mutates})
            for (TensorId t : *list)
                for (const int other : touching[t.index()])
                    if (other < op) at = std::max(at, last[other]);
        first[op] = last[op] = at;
        after[static_cast<std::size_t>(at + 1)].push_back(op);
    }
    std::vector<PlacedRun> placed;
    for (std::size_t i = 0; i <= runs.size(); ++i) {
        if (i > 0) placed.push_back({runs[i - 1], false});
        for (const int op : after[i]) placed.push_back({op, on_host[static_cast<std::size_t>(op)] != 0});
    }
    return placed;
}

}  // namespace rematlas::offmate
