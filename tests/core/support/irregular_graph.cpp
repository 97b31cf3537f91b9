#include "tests/core/support/irregular_graph.h"

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rematlas {

namespace {

constexpr std::int64_t kSmallest = 64 << 10, kLargest = 3 << 20;  // bytes
constexpr std::int64_t kShortest = 5'000, kLongest = 600'000;     // ns
constexpr std::int64_t kSumTime = 1'000;
constexpr std::int64_t kWeightBytes = 16 << 10;

class IrregularBuilder {
  public:
    explicit IrregularBuilder(const IrregularShape& shape) : shape_(shape), random_(shape.seed) {}

    Graph build() {
        graph_.name = "irregular" + std::to_string(shape_.forward_ops) + "_" + std::to_string(shape_.seed);
        made_.push_back(tensor("x", 1 << 20, TensorKind::input));
        for (int i = 0; i < shape_.forward_ops; ++i) forward("f" + std::to_string(i));
        gradients_.resize(made_.size());
        loss();
        for (std::size_t i = forward_.size(); i-- > 0;) backward(i);
        return std::move(graph_);
    }

  private:
    struct Forward {
        std::vector<std::size_t> inputs;  ///< indices into made_
        std::int64_t time;
    };

    // The standard library's distributions are not used, because they differ between implementations.
    double unit() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(unit() * static_cast<double>(n)); }
    std::int64_t between(std::int64_t least, std::int64_t most) {
        const double ratio = static_cast<double>(most) / static_cast<double>(least);
        return static_cast<std::int64_t>(static_cast<double>(least) * std::pow(ratio, unit()));
    }

    TensorId tensor(const std::string& name, std::int64_t bytes, TensorKind kind) {
        return graph_.tensors.push_back({.name = name, .bytes = Bytes(bytes), .kind = kind});
    }
    void op(const std::string& name, Phase phase, std::vector<TensorId> inputs, TensorId output,
            std::int64_t time) {
        Op made;
        made.name = name;
        made.phase = phase;
        made.time = Nanoseconds(time);
        made.inputs = std::move(inputs);
        made.outputs = {output};
        graph_.ops.push_back(std::move(made));
    }

    void forward(const std::string& name) {
        const std::size_t near = std::min<std::size_t>(made_.size(), 4);
        Forward made{{made_.size() - 1 - below(near)}, between(kShortest, kLongest)};
        if (unit() < shape_.skips) {
            const std::size_t reach =
                unit() < 1.0 / 3 ? made_.size() : std::min<std::size_t>(made_.size(), 12);
            const std::size_t skipped = made_.size() - 1 - below(reach);
            if (skipped != made.inputs[0]) made.inputs.push_back(skipped);
        }
        std::vector<TensorId> inputs;
        for (const std::size_t i : made.inputs) inputs.push_back(made_[i]);
        const TensorId output = tensor(name, between(kSmallest, kLargest), TensorKind::activation);
        op(name, Phase::forward, std::move(inputs), output, made.time);
        made_.push_back(output);
        unread_.resize(made_.size(), true);
        for (const std::size_t i : made.inputs) unread_[i] = false;
        forward_.push_back(std::move(made));
    }

    // The loss reads all outputs that no forward op reads, so every output gets a gradient.
    void loss() {
        std::vector<TensorId> read, scores;
        for (std::size_t i = 1; i < made_.size(); ++i)
            if (unread_[i]) read.push_back(made_[i]);
        scores.push_back(tensor("loss", 4096, TensorKind::activation));
        op("loss", Phase::loss, std::move(read), scores[0], kShortest);
        for (std::size_t i = 1; i < made_.size(); ++i) {
            if (!unread_[i]) continue;
            gradients_[i] = tensor("gradient", graph_.tensors[made_[i]].bytes.value, TensorKind::gradient);
            op("loss_gradient", Phase::backward, {scores[0], made_[i]}, gradients_[i], kShortest);
        }
    }

    void backward(std::size_t i) {
        const Forward& forward = forward_[i];
        const TensorId gradient = gradients_[i + 1];
        const bool reads_output = unit() < 0.4;
        if (unit() < 0.4) {
            const TensorId weight = tensor("dw", kWeightBytes, TensorKind::gradient);
            op("dw", Phase::backward, {made_[forward.inputs[0]], gradient}, weight, forward.time);
            graph_.results.push_back(weight);
        }
        for (const std::size_t input : forward.inputs) {
            if (input == 0) continue;
            const std::int64_t bytes = graph_.tensors[made_[input]].bytes.value;
            const TensorId made = tensor("dx", bytes, TensorKind::gradient);
            op("dx", Phase::backward, {made_[reads_output ? i + 1 : input], gradient}, made, forward.time);
            accumulate(input, made, bytes);
        }
        if (i == 0) finish(gradient);
    }

    void accumulate(std::size_t input, TensorId gradient, std::int64_t bytes) {
        if (!gradients_[input].valid()) {
            gradients_[input] = gradient;
            return;
        }
        const TensorId sum = tensor("sum", bytes, TensorKind::gradient);
        op("sum", Phase::backward, {gradients_[input], gradient}, sum, kSumTime);
        gradients_[input] = sum;
    }

    // Adds the weight gradient of the first op. To compute it, the whole backward must run.
    void finish(TensorId gradient) {
        const TensorId first = tensor("dw0", kWeightBytes, TensorKind::gradient);
        op("dw0", Phase::backward, {made_[0], gradient}, first, kShortest);
        graph_.results.push_back(first);
    }

    const IrregularShape& shape_;
    std::mt19937_64 random_;
    Graph graph_;
    std::vector<TensorId> made_;  ///< the input, and the output of each forward op
    std::vector<bool> unread_;    ///< whether no op has read this element of made_
    std::vector<TensorId> gradients_;
    std::vector<Forward> forward_;
};

}  // namespace

Graph irregular_graph(const IrregularShape& shape) {
    return IrregularBuilder(shape).build();
}

}  // namespace rematlas
