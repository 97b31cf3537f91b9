// A small network as a training graph: an embedding, then layers h.0, h.1, ... of four forward ops. Each op
// has a gradient.
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace rematlas {

class LayeredGraph {
  public:
    /// Makes a graph in which all layers are equal. Each op makes 1 MiB and takes 1 ms forward and 2 ms
    /// backward.
    static Graph make(int layers) {
        LayeredGraph builder;
        builder.graph_.name = "layered";
        TensorId input = builder.tensor("input", TensorKind::input);
        TensorId flow = builder.run("aten::embedding", {input}, "embed", Phase::forward);
        for (int i = 0; i < layers; ++i) flow = builder.layer("h." + std::to_string(i), flow);
        builder.backward(builder.run("aten::loss", {flow}, "", Phase::loss));
        return std::move(builder.graph_);
    }

  private:
    static constexpr std::int64_t kMiB = 1 << 20;

    TensorId tensor(const std::string& name, TensorKind kind) {
        return graph_.tensors.push_back({name, Bytes(kMiB), kind});
    }

    TensorId run(const std::string& name, std::vector<TensorId> inputs, const std::string& module,
                 Phase phase) {
        Op op;
        op.name = name;
        op.module = module;
        op.phase = phase;
        op.time = Nanoseconds(phase == Phase::backward ? 2'000'000 : 1'000'000);
        op.inputs = std::move(inputs);
        op.outputs = {
            tensor(module + name, phase == Phase::backward ? TensorKind::gradient : TensorKind::activation)};
        TensorId out = op.outputs.front();
        graph_.ops.push_back(std::move(op));
        return out;
    }

    TensorId layer(const std::string& module, TensorId in) {
        TensorId weight = tensor(module + ".weight", TensorKind::parameter);
        TensorId norm = run("aten::layer_norm", {in}, module + ".norm", Phase::forward);
        TensorId linear = run("aten::addmm", {norm, weight}, module + ".mlp.fc", Phase::forward);
        TensorId active = run("aten::gelu", {linear}, module + ".mlp.act", Phase::forward);
        return run("aten::add", {in, active}, module, Phase::forward);
    }

    /// Adds the backward ops. Each op reads the gradient that the previous backward op made and the input of
    /// its forward op.
    void backward(TensorId gradient) {
        std::size_t forward_ops = graph_.ops.size() - 1;
        for (std::size_t i = forward_ops; i-- > 0;) {
            const Op forward = graph_.ops[OpId(static_cast<std::int64_t>(i))];
            gradient = run(forward.name + "_backward", {forward.inputs.front(), gradient}, forward.module,
                           Phase::backward);
            graph_.ops[OpId(static_cast<std::int64_t>(graph_.ops.size()) - 1)].of =
                OpId(static_cast<std::int64_t>(i));
        }
        graph_.results = {gradient};
    }

    Graph graph_;
};

}  // namespace rematlas
