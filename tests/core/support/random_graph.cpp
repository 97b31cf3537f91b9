#include "tests/core/support/random_graph.h"

#include <algorithm>
#include <random>

namespace rematlas {
namespace {

class Builder {
  public:
    explicit Builder(std::uint64_t seed) : random_(seed * 7919 + 17) {}

    int draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
    bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

    TensorId tensor(TensorKind kind) {
        const std::string name = "t" + std::to_string(graph.tensors.size());
        return graph.tensors.push_back({.name = name, .bytes = Bytes(draw(1, 9)), .kind = kind});
    }

    Op& op(Phase phase, std::vector<TensorId> inputs, bool free_ops) {
        std::sort(inputs.begin(), inputs.end());
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
        Op made;
        made.name = "op" + std::to_string(graph.ops.size());
        made.time = Nanoseconds(free_ops && chance(0.15) ? 0 : draw(1, 9));
        made.inputs = std::move(inputs);
        made.phase = phase;
        return graph.ops[graph.ops.push_back(std::move(made))];
    }

    TensorId output(Op& op, TensorKind kind) {
        const TensorId t = tensor(kind);
        op.outputs.push_back(t);
        return t;
    }

    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<std::size_t>(draw(0, static_cast<int>(from.size()) - 1))];
    }

    Graph graph;

  private:
    std::mt19937_64 random_;
};

/// In about a third of the calls, lets the outputs of an op overwrite its inputs in place. Each output
/// overwrites one input that an op has made.
void maybe_inplace(Builder& b, Op& op, const std::vector<TensorId>& made) {
    if (op.outputs.empty() || !b.chance(0.35)) return;
    for (TensorId in : op.inputs) {
        if (std::find(made.begin(), made.end(), in) == made.end()) continue;
        op.inplace.push_back({.out = op.outputs[op.inplace.size()], .in = in});
        if (op.inplace.size() == op.outputs.size()) return;
    }
}

struct Forward {
    std::vector<TensorId> inputs, outputs;
    TensorId parameter;
};

class TrainingGraph {
  public:
    TrainingGraph(std::uint64_t seed, const RandomGraphOptions& options) : b_(seed), options_(options) {}

    Graph build() {
        const TensorId input = b_.tensor(TensorKind::input);
        if (!options_.residents) b_.graph.tensors[input].bytes = Bytes(0);
        std::vector<TensorId> made;
        for (int i = 0; i < options_.forward_ops; ++i) forward_op(input, made);
        loss(made);
        for (int i = options_.forward_ops; i-- > 0;)
            backward_op(forward_[static_cast<std::size_t>(i)], i == 0);
        if (options_.forward_results && b_.chance(0.3)) b_.graph.results.push_back(b_.pick(made));
        auto& results = b_.graph.results;
        std::sort(results.begin(), results.end());
        results.erase(std::unique(results.begin(), results.end()), results.end());
        for (OpId op : b_.graph.ops.ids()) {
            if (options_.workspaces && b_.chance(0.3)) b_.graph.ops[op].workspace = Bytes(b_.draw(1, 8));
        }
        return std::move(b_.graph);
    }

  private:
    void forward_op(TensorId input, std::vector<TensorId>& made) {
        Forward f;
        f.inputs.push_back(made.empty() ? input : made.back());
        if (options_.skips && !made.empty() && b_.chance(0.4)) f.inputs.push_back(b_.pick(made));
        std::vector<TensorId> inputs = f.inputs;
        if (options_.residents && b_.chance(0.4)) {
            f.parameter = b_.tensor(TensorKind::parameter);
            inputs.push_back(f.parameter);
        }
        Op& op = b_.op(Phase::forward, inputs, options_.free_ops);
        f.outputs.push_back(b_.output(op, TensorKind::activation));
        if (options_.several_outputs && b_.chance(0.25))
            f.outputs.push_back(b_.output(op, TensorKind::activation));
        if (options_.inplace && op.outputs.size() == 1) maybe_inplace(b_, op, made);
        if (options_.run_once && b_.chance(0.15)) op.recomputable = false;
        made.insert(made.end(), f.outputs.begin(), f.outputs.end());
        forward_.push_back(std::move(f));
    }

    void loss(const std::vector<TensorId>& made) {
        Op& op = b_.op(Phase::loss, {made.back()}, false);
        gradient_ = b_.output(op, TensorKind::gradient);
    }

    void backward_op(const Forward& f, bool last) {
        std::vector<TensorId> reads{gradient_};
        if (b_.chance(0.6)) reads.push_back(f.outputs.back());
        if (b_.chance(0.7)) reads.push_back(f.inputs.front());
        if (f.inputs.size() > 1 && b_.chance(0.5)) reads.push_back(f.inputs.back());
        if (f.outputs.size() > 1 && b_.chance(0.5)) reads.push_back(f.outputs.front());
        if (options_.weight_gradients && f.parameter.valid()) {
            Op& weight = b_.op(Phase::backward, {gradient_, f.inputs.front()}, options_.free_ops);
            b_.graph.results.push_back(b_.output(weight, TensorKind::gradient));
        }
        Op& op = b_.op(Phase::backward, reads, options_.free_ops);
        const TensorId next = b_.output(op, TensorKind::gradient);
        if (options_.inplace) maybe_inplace(b_, op, {gradient_});
        gradient_ = next;
        if (last) b_.graph.results.push_back(gradient_);
    }

    Builder b_;
    RandomGraphOptions options_;
    std::vector<Forward> forward_;
    TensorId gradient_;
};

}  // namespace

Graph random_training_graph(std::uint64_t seed, const RandomGraphOptions& options) {
    Graph graph = TrainingGraph(seed, options).build();
    for (Tensor& tensor : graph.tensors) tensor.bytes.value *= options.unit;
    for (Op& op : graph.ops) op.workspace.value *= options.unit;
    graph.name = "training" + std::to_string(seed);
    return graph;
}

Graph random_odd_graph(std::uint64_t seed, int ops) {
    Builder b(seed);
    std::vector<TensorId> readable;
    for (int i = b.draw(0, 2); i > 0; --i) readable.push_back(b.tensor(TensorKind::input));
    std::vector<TensorId> made;
    for (int i = 0; i < ops; ++i) {
        std::vector<TensorId> inputs;
        for (int reads = b.draw(0, 3); reads > 0 && !readable.empty(); --reads)
            inputs.push_back(b.pick(readable));
        const Phase phase = b.chance(0.6)   ? Phase::forward
                            : b.chance(0.8) ? Phase::backward
                                            : Phase::optimizer;
        Op& op = b.op(phase, inputs, true);
        for (int outputs = b.chance(0.2) ? b.draw(0, 2) : 1; outputs > 0; --outputs)
            b.output(op, TensorKind::activation);
        if (b.chance(0.3)) op.workspace = Bytes(b.draw(1, 8));
        if (b.chance(0.1)) op.recomputable = false;
        maybe_inplace(b, op, made);
        for (TensorId t : op.outputs) {
            made.push_back(t);
            readable.push_back(t);
        }
    }
    for (TensorId t : b.graph.tensors.ids()) {
        if (b.chance(0.2)) b.graph.results.push_back(t);
    }
    b.graph.name = "odd" + std::to_string(seed);
    return std::move(b.graph);
}

Graph random_chain(std::uint64_t seed, int stages, bool reads_both) {
    Builder b(seed);
    std::vector<TensorId> x{b.tensor(TensorKind::input)};
    b.graph.tensors[x[0]].bytes = Bytes(0);
    for (int i = 0; i < stages; ++i) {
        Op& op = b.op(Phase::forward, {x.back()}, false);
        x.push_back(b.output(op, TensorKind::activation));
    }
    TensorId gradient = b.output(b.op(Phase::loss, {x.back()}, false), TensorKind::gradient);
    for (int i = stages; i-- > 0;) {
        std::vector<TensorId> reads{gradient};
        const int kind = reads_both ? 2 : b.draw(0, 2);
        if (kind != 0) reads.push_back(x[static_cast<std::size_t>(i)]);
        if (kind != 1) reads.push_back(x[static_cast<std::size_t>(i) + 1]);
        gradient = b.output(b.op(Phase::backward, reads, false), TensorKind::gradient);
    }
    b.graph.results.push_back(gradient);
    b.graph.name = "chain" + std::to_string(seed);
    return std::move(b.graph);
}

}  // namespace rematlas
