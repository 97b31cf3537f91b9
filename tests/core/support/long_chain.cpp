#include "tests/core/support/long_chain.h"

#include <random>
#include <string>
#include <vector>

#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Costs of one layer, in bytes and nanoseconds.
struct Layer {
    std::int64_t output = 4 << 20, inner = 6 << 20, workspace = 1 << 20;
    std::int64_t forward = 5000, backward = 10000;
};

std::vector<Layer> layers_of(ChainKind kind, int count, std::uint64_t seed) {
    std::vector<Layer> layers(static_cast<std::size_t>(count));
    if (kind == ChainKind::equal) return layers;
    std::mt19937_64 random(seed);
    const auto up_to = [&](std::int64_t most) {
        return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    for (std::size_t i = 0; i < layers.size(); ++i) {
        layers[i] = {up_to(8 << 20), up_to(12 << 20), up_to(2 << 20), up_to(10000), up_to(20000)};
        if (kind == ChainKind::blocks && i >= 4) layers[i] = layers[i - 4];
    }
    return layers;
}

class ChainBuilder {
  public:
    Graph build(const std::vector<Layer>& layers) {
        TensorId x = tensor(layers.front().output, TensorKind::input);
        for (const Layer& layer : layers) {
            inputs_.push_back(x);
            x = tensor(layer.output, TensorKind::activation);
            inner_.push_back(tensor(layer.inner, TensorKind::activation));
            op(Phase::forward, {inputs_.back()}, {x, inner_.back()}, layer.forward, layer.workspace);
        }
        TensorId gradient = tensor(layers.back().output, TensorKind::gradient);
        op(Phase::loss, {x}, {gradient}, layers.back().forward, 0);
        for (std::size_t i = layers.size(); i-- > 0;) {
            const TensorId next = tensor(layers[i > 0 ? i - 1 : 0].output, TensorKind::gradient);
            op(Phase::backward, {gradient, inputs_[i], x, inner_[i]}, {next}, layers[i].backward,
               layers[i].workspace);
            x = inputs_[i];
            gradient = next;
        }
        graph_.results.push_back(gradient);
        return std::move(graph_);
    }

  private:
    TensorId tensor(std::int64_t bytes, TensorKind kind) {
        return graph_.tensors.push_back(
            {.name = "t" + std::to_string(graph_.tensors.size()), .bytes = Bytes(bytes), .kind = kind});
    }

    void op(Phase phase, std::vector<TensorId> inputs, std::vector<TensorId> outputs, std::int64_t time,
            std::int64_t workspace) {
        Op made;
        made.name = "op" + std::to_string(graph_.ops.size());
        made.phase = phase;
        made.inputs = std::move(inputs);
        made.outputs = std::move(outputs);
        made.time = Nanoseconds(time);
        made.workspace = Bytes(workspace);
        graph_.ops.push_back(std::move(made));
    }

    Graph graph_;
    std::vector<TensorId> inputs_, inner_;
};

}  // namespace

Graph long_chain(ChainKind kind, int layers, std::uint64_t seed) {
    Graph graph = ChainBuilder().build(layers_of(kind, layers, seed));
    const char* names[] = {"equal", "blocks", "uneven"};
    graph.name = std::string(names[static_cast<int>(kind)]) + " chain of " + std::to_string(layers);
    return graph;
}

Graph unit_chain(int n) {
    Graph graph = random_chain(1, n);
    for (Tensor& t : graph.tensors) t.bytes = Bytes(t.bytes.value == 0 ? 0 : 1);
    for (OpId op : graph.ops.ids()) {
        Op& o = graph.ops[op];
        o.time = Nanoseconds(1);
        if (o.phase != Phase::backward) continue;
        const int stage = 2 * n - op.value;
        o.inputs = {TensorId(stage), graph.ops[OpId(op.value - 1)].outputs.front()};
    }
    return graph;
}

}  // namespace rematlas
