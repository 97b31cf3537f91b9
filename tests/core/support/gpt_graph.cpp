#include "tests/core/support/gpt_graph.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rematlas {

namespace {

constexpr std::int64_t kLaunch = 2'000;  // ns

/// A forward op, with everything that is needed to add its backward ops: the tensors that they read, and
/// their costs.
struct Recorded {
    OpId op;
    std::vector<TensorId> data;   ///< inputs that get a gradient
    std::vector<TensorId> saved;  ///< tensors that its backward reads besides the gradient of the output
    TensorId output;
    TensorId weight;  ///< invalid if the op has no weight
    double flops = 0;
};

class GptBuilder {
  public:
    explicit GptBuilder(const GptShape& shape) : shape_(shape), tokens_(shape.batch * shape.sequence) {}

    Graph build() {
        graph_.name = shape_.encoder_layers > 0 ? "encoder" + std::to_string(shape_.encoder_layers) +
                                                      " decoder" + std::to_string(shape_.layers)
                                                : "gpt" + std::to_string(shape_.layers);
        TensorId read;
        if (shape_.encoder_layers > 0) {
            read = embedding("encoder.wte");
            for (int layer = 0; layer < shape_.encoder_layers; ++layer)
                read = block("encoder." + std::to_string(layer), read, {});
            read = norm("encoder.ln_f", read);
        }
        TensorId x = embedding("wte");
        for (int layer = 0; layer < shape_.layers; ++layer) x = block("h." + std::to_string(layer), x, read);
        module_ = "head";
        x = norm("ln_f", x);
        x = linear("lm_head", x, shape_.width, shape_.vocabulary);
        loss(x);
        for (std::size_t i = tape_.size(); i-- > 0;) backward(tape_[i]);
        if (shape_.adamw) update_parameters();
        return std::move(graph_);
    }

  private:
    TensorId tensor(std::string name, std::int64_t bytes, TensorKind kind) {
        return graph_.tensors.push_back({.name = std::move(name), .bytes = Bytes(bytes), .kind = kind});
    }
    TensorId parameter(const std::string& name, std::int64_t numbers) {
        return tensor(module_ + "." + name, numbers * shape_.number_bytes, TensorKind::parameter);
    }

    OpId op(const std::string& name, Phase phase, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
            double flops) {
        double bytes = 0;
        std::sort(inputs.begin(), inputs.end());
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
        for (const TensorId t : inputs) bytes += static_cast<double>(graph_.tensors[t].bytes.value);
        for (const TensorId t : outputs) bytes += static_cast<double>(graph_.tensors[t].bytes.value);
        Op made;
        made.name = name;
        made.time =
            Nanoseconds(kLaunch + static_cast<std::int64_t>(std::max(flops / shape_.flops_per_nanosecond,
                                                                     bytes / shape_.bytes_per_nanosecond)));
        made.workspace = Bytes(flops > 0 ? 8 << 20 : 0);
        made.inputs = std::move(inputs);
        made.outputs = std::move(outputs);
        made.phase = phase;
        made.module = module_;
        return graph_.ops.push_back(std::move(made));
    }

    /// Adds one forward op with one activation and the `extra_outputs`. Returns the activation.
    TensorId forward(const std::string& name, std::vector<TensorId> data, std::vector<TensorId> also_saved,
                     std::int64_t numbers, std::vector<TensorId> extra_outputs, TensorId weight, double flops,
                     bool saves_inputs = true, bool saves_output = false) {
        const TensorId out =
            tensor(module_ + "." + name, numbers * shape_.number_bytes, TensorKind::activation);
        std::vector<TensorId> inputs = data;
        if (weight.valid()) inputs.push_back(weight);
        std::vector<TensorId> outputs{out};
        outputs.insert(outputs.end(), extra_outputs.begin(), extra_outputs.end());
        Recorded recorded{.op = op(name, Phase::forward, inputs, outputs, flops),
                          .data = {},
                          .saved = std::move(also_saved),
                          .output = out,
                          .weight = weight,
                          .flops = flops};
        for (const TensorId t : data)
            if (graph_.tensors[t].kind == TensorKind::activation) recorded.data.push_back(t);
        if (saves_inputs) recorded.saved.insert(recorded.saved.end(), data.begin(), data.end());
        if (saves_output) recorded.saved.push_back(out);
        recorded.saved.insert(recorded.saved.end(), extra_outputs.begin(), extra_outputs.end());
        tape_.push_back(std::move(recorded));
        return out;
    }

    TensorId linear(const std::string& name, TensorId x, std::int64_t from, std::int64_t to) {
        return forward(
            name, {x}, {}, tokens_ * to, {}, parameter(name + ".weight", from * to),
            2.0 * static_cast<double>(tokens_) * static_cast<double>(from) * static_cast<double>(to));
    }
    TensorId norm(const std::string& name, TensorId x) {
        const TensorId statistics =
            tensor(module_ + "." + name + ".rstd", tokens_ * 8, TensorKind::activation);
        return forward(name, {x}, {}, tokens_ * shape_.width, {statistics},
                       parameter(name + ".weight", 2 * shape_.width), 0);
    }
    TensorId dropout(const std::string& name, TensorId x, std::int64_t numbers) {
        const TensorId mask = tensor(module_ + "." + name + ".mask", numbers, TensorKind::activation);
        return forward(name, {x}, {}, numbers, {mask}, {}, 0, false);
    }
    TensorId add(const std::string& name, TensorId a, TensorId b) {
        return forward(name, {a, b}, {}, tokens_ * shape_.width, {}, {}, 0, false);
    }

    TensorId embedding(const std::string& name) {
        const TensorId ids = tensor(name + ".ids", tokens_ * 8, TensorKind::input);
        return forward("embedding", {ids}, {}, tokens_ * shape_.width, {},
                       parameter(name, shape_.vocabulary * shape_.width), 0);
    }

    /// Adds attention. Queries come from `asks`; keys and values come from `answers`, which may be the same
    /// tensor.
    TensorId attention(const std::string& name, TensorId asks, TensorId answers) {
        const std::int64_t scores = shape_.batch * shape_.heads * shape_.sequence * shape_.sequence;
        const double flops = 2.0 * static_cast<double>(tokens_) * static_cast<double>(shape_.sequence) *
                             static_cast<double>(shape_.width);
        const TensorId q = linear(name + "q", asks, shape_.width, shape_.width);
        const TensorId k = linear(name + "k", answers, shape_.width, shape_.width);
        const TensorId v = linear(name + "v", answers, shape_.width, shape_.width);
        if (shape_.fused_attention) {
            const TensorId sums =
                tensor(module_ + "." + name + "logsumexp", shape_.batch * shape_.heads * shape_.sequence * 4,
                       TensorKind::activation);
            const TensorId y = forward(name + "attention", {q, k, v}, {}, tokens_ * shape_.width, {sums}, {},
                                       2 * flops, true, true);
            return linear(name + "proj", y, shape_.width, shape_.width);
        }
        TensorId s = forward(name + "scores", {q, k}, {}, scores, {}, {}, flops);
        s = forward(name + "scale", {s}, {}, scores, {}, {}, 0, false);
        s = forward(name + "mask", {s}, {}, scores, {}, {}, 0, false);
        s = forward(name + "softmax", {s}, {}, scores, {}, {}, 0, false, true);
        s = dropout(name + "attn_dropout", s, scores);
        TensorId y = forward(name + "context", {s, v}, {}, tokens_ * shape_.width, {}, {}, flops);
        y = forward(name + "merge", {y}, {}, tokens_ * shape_.width, {}, {}, 0, false);
        y = linear(name + "proj", y, shape_.width, shape_.width);
        return dropout(name + "resid_dropout", y, tokens_ * shape_.width);
    }

    /// Adds a layer. `read` is the output of the encoder; invalid if there is no encoder.
    TensorId block(const std::string& name, TensorId x, TensorId read) {
        module_ = name;
        const TensorId n1 = norm("ln_1", x);
        x = add("resid_1", x, attention("", n1, n1));
        if (read.valid()) x = add("resid_read", x, attention("read_", norm("ln_read", x), read));
        const TensorId n2 = norm("ln_2", x);
        TensorId h = linear("fc", n2, shape_.width, 4 * shape_.width);
        h = forward("gelu", {h}, {}, tokens_ * 4 * shape_.width, {}, {}, 0);
        h = linear("fc_proj", h, 4 * shape_.width, shape_.width);
        h = dropout("mlp_dropout", h, tokens_ * shape_.width);
        return add("resid_2", x, h);
    }

    void loss(TensorId logits) {
        const TensorId gradient =
            tensor("logits.grad", graph_.tensors[logits].bytes.value, TensorKind::gradient);
        op("cross_entropy", Phase::loss, {logits}, {gradient}, 0);
        gradients_.resize(graph_.tensors.size());
        gradients_[logits.index()].push_back(gradient);
    }

    /// Returns the gradient of a tensor. Adds the ops that sum it if several ops contribute.
    TensorId gradient_of(TensorId t) {
        if (gradients_.size() <= t.index()) return TensorId();
        std::vector<TensorId>& parts = gradients_[t.index()];
        while (parts.size() > 1) {
            const TensorId sum = tensor(graph_.tensors[t].name + ".grad_sum", graph_.tensors[t].bytes.value,
                                        TensorKind::gradient);
            const TensorId a = parts[0], b = parts[1];
            const OpId made = op("add", Phase::backward, {a, b}, {sum}, 0);
            graph_.ops[made].inplace.push_back({.out = sum, .in = a});
            parts.erase(parts.begin(), parts.begin() + 2);
            parts.push_back(sum);
        }
        return parts.empty() ? TensorId() : parts.front();
    }

    void backward(const Recorded& recorded) {
        const TensorId gradient = gradient_of(recorded.output);
        if (!gradient.valid()) return;
        module_ = graph_.ops[recorded.op].module;
        const std::string name = graph_.ops[recorded.op].name;
        std::vector<TensorId> reads = recorded.saved;
        reads.push_back(gradient);
        if (recorded.weight.valid()) {
            const TensorId wgrad = tensor(graph_.tensors[recorded.weight].name + ".grad",
                                          graph_.tensors[recorded.weight].bytes.value, TensorKind::gradient);
            const OpId made = op(name + "_wgrad", Phase::backward, reads, {wgrad}, recorded.flops);
            graph_.ops[made].of = recorded.op;
            graph_.results.push_back(wgrad);
            gradient_of_weight_[recorded.weight] = wgrad;
        }
        for (const TensorId t : recorded.data) {
            const TensorId part =
                tensor(graph_.tensors[t].name + ".grad", graph_.tensors[t].bytes.value, TensorKind::gradient);
            std::vector<TensorId> inputs = reads;
            if (recorded.weight.valid() && recorded.flops > 0) inputs = {gradient, recorded.weight};
            const OpId made = op(name + "_dgrad", Phase::backward, inputs, {part}, recorded.flops);
            graph_.ops[made].of = recorded.op;
            gradients_[t.index()].push_back(part);
        }
    }

    /// Adds the updates of all parameters. The gradients are then not results of the step, because nothing
    /// needs them after the updates.
    void update_parameters() {
        for (const Recorded& recorded : tape_) {
            if (!recorded.weight.valid()) continue;
            const TensorId gradient = gradient_of_weight_.at(recorded.weight);
            const Tensor weight = graph_.tensors[recorded.weight];
            module_ = graph_.ops[recorded.op].module;
            std::vector<TensorId> updated{recorded.weight};
            for (const char* state : {".exp_avg", ".exp_avg_sq"})
                updated.push_back(
                    tensor(weight.name + state, weight.bytes.value, TensorKind::optimizer_state));
            std::vector<TensorId> reads = updated;
            reads.push_back(gradient);
            const OpId made = op("adamw", Phase::optimizer, reads, {}, 0);
            graph_.ops[made].time = Nanoseconds(2 * graph_.ops[made].time.value - kLaunch);
            graph_.ops[made].mutates = std::move(updated);
        }
        graph_.results.clear();
    }

    GptShape shape_;
    std::int64_t tokens_;
    std::string module_ = "transformer";
    Graph graph_;
    std::vector<Recorded> tape_;
    std::map<TensorId, TensorId> gradient_of_weight_;
    std::vector<std::vector<TensorId>>
        gradients_;  ///< by tensor: contributions so far of the ops that read it
};

}  // namespace

Graph gpt_graph(const GptShape& shape) {
    return GptBuilder(shape).build();
}

}  // namespace rematlas
