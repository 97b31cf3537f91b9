// A step that gathers weights and scatters gradients in the queue "fsdp".
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

/// Each layer takes `compute` nanoseconds forward and twice as many backward. Each collective takes `wire`
/// nanoseconds and sends as many bytes.
inline Graph sharded_layers(int layers, std::int64_t compute, std::int64_t wire) {
    Graph graph;
    graph.name = "sharded layers";
    const auto tensor = [&](std::string name, std::int64_t bytes, TensorKind kind) {
        graph.tensors.push_back({std::move(name), Bytes(bytes), kind});
        return TensorId(static_cast<std::int64_t>(graph.tensors.size()) - 1);
    };
    const auto op = [&](std::string name, Phase phase, std::int64_t time, std::vector<TensorId> in,
                        std::vector<TensorId> out, bool is_collective) {
        Op made;
        made.name = std::move(name);
        made.time = Nanoseconds(time);
        made.inputs = std::move(in);
        made.outputs = std::move(out);
        made.phase = phase;
        if (is_collective) made.collective = Collective{"fsdp", Bytes(wire)};
        graph.ops.push_back(std::move(made));
    };
    std::vector<TensorId> shards, wholes, kept{tensor("x", 10, TensorKind::input)};
    for (int i = 0; i < layers; ++i) {
        shards.push_back(tensor("shard", 5, TensorKind::parameter));
        wholes.push_back(tensor("whole", 40, TensorKind::activation));
        kept.push_back(tensor("a", 10, TensorKind::activation));
        op("gather", Phase::forward, wire, {shards.back()}, {wholes.back()}, true);
        op("layer", Phase::forward, compute, {kept[kept.size() - 2], wholes.back()}, {kept.back()}, false);
    }
    TensorId gradient = tensor("g", 10, TensorKind::gradient);
    op("loss", Phase::loss, compute, {kept.back()}, {gradient}, false);
    for (int i = layers; i-- > 0;) {
        const TensorId before = tensor("g", 10, TensorKind::gradient),
                       full = tensor("dw", 40, TensorKind::gradient),
                       part = tensor("ds", 5, TensorKind::gradient);
        op("layer backward", Phase::backward, 2 * compute,
           {gradient, kept[static_cast<std::size_t>(i)], wholes[static_cast<std::size_t>(i)]}, {before, full},
           false);
        op("scatter", Phase::backward, wire, {full}, {part}, true);
        graph.results.push_back(part);
        gradient = before;
    }
    return graph;
}

}  // namespace rematlas
