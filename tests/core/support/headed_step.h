// Small training steps with a head and a loss, made by hand, for tests that state exact numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// A body of one op, and functions that add a head and its loss. Tests add the parts in which their models
/// differ.
class HeadedStep {
  public:
    /// The bytes of the hidden states, of the logits and of the weights.
    static constexpr std::int64_t kHidden = 1'000, kLogits = 64'000, kWeights = 4'000;

    HeadedStep() {
        graph.name = "step";
        tokens = resident("tokens", 80, TensorKind::input);
        weights = resident("weights", kWeights, TensorKind::parameter);
        hidden = op("aten::embedding", Phase::forward, {tokens, weights}, kHidden);
    }

    TensorId resident(const char* name, std::int64_t bytes, TensorKind kind) {
        return graph.tensors.push_back({name, Bytes(bytes), kind});
    }

    TensorId op(const char* name, Phase phase, std::vector<TensorId> inputs, std::int64_t bytes) {
        const TensorId out = graph.tensors.push_back(
            {"t", Bytes(bytes), phase == Phase::forward ? TensorKind::activation : TensorKind::gradient});
        Op made;
        made.name = name;
        made.time = Nanoseconds(1);
        made.inputs = std::move(inputs);
        made.outputs = {out};
        made.phase = phase;
        graph.ops.push_back(std::move(made));
        return out;
    }
    TensorId forward(const char* name, std::vector<TensorId> inputs, std::int64_t bytes) {
        return op(name, Phase::forward, std::move(inputs), bytes);
    }
    TensorId backward(const char* name, std::vector<TensorId> inputs, std::int64_t bytes) {
        return op(name, Phase::backward, std::move(inputs), bytes);
    }

    /// Adds the cross entropy of the logits and its backward. Returns the gradient of the logits.
    TensorId loss_of(TensorId logits) {
        const TensorId logs = forward("aten::_log_softmax", {logits}, kLogits);
        const TensorId loss = forward("aten::nll_loss_forward", {logs, tokens}, 4);
        const TensorId unit = op("rematlas::output_gradients", Phase::loss, {loss}, 4);
        const TensorId of_logs = backward("aten::nll_loss_backward", {unit, logs, tokens}, kLogits);
        return backward("aten::_log_softmax_backward_data", {of_logs, logs}, kLogits);
    }

    /// Adds the gradients of the head's operands and of the embedding. Head and embedding share their
    /// weights, so the result of the step is the sum of two gradients of these weights.
    void end(TensorId of_logits, TensorId operand) {
        of_weights = backward("aten::mm", {of_logits, hidden}, kWeights);
        of_hidden = backward("aten::mm", {of_logits, operand}, kHidden);
        const TensorId of_embedding =
            backward("aten::embedding_dense_backward", {of_hidden, tokens}, kWeights);
        graph.results = {backward("aten::add", {of_embedding, of_weights}, kWeights)};
    }

    Graph graph;
    TensorId tokens, weights, hidden, of_weights, of_hidden;
};

inline HeadedStep language_model_step() {
    HeadedStep step;  // the head shares the weights of the embedding
    const TensorId logits = step.forward("aten::mm", {step.hidden, step.weights}, HeadedStep::kLogits);
    step.end(step.loss_of(logits), step.weights);
    return step;
}

}  // namespace rematlas
