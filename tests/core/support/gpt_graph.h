// Synthetic training graphs of a GPT, for benches and tests of large graphs.
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

struct GptShape {
    int layers = 12;
    std::int64_t batch = 4, sequence = 1024, width = 768, heads = 12;
    std::int64_t vocabulary = 50257;
    int encoder_layers = 0;  ///< before them; each of `layers` then attends to the last one's output, too
    bool fused_attention = false;  ///< one op that keeps no scores, and no dropout in it
    /// AdamW at the end: an op a parameter, that reads its gradient and updates it and two states of its size.
    bool adamw = false;
    std::int64_t number_bytes = 2;
    double flops_per_nanosecond = 100'000, bytes_per_nanosecond = 1'000;  ///< of the device
};

/// GPT-2 XL in single precision with AdamW on 8 sequences, on a device of the speed of an H200.
inline GptShape gpt2_xl_with_adamw() {
    return {.layers = 48,
            .batch = 8,
            .width = 1600,
            .heads = 25,
            .fused_attention = true,
            .adamw = true,
            .number_bytes = 4,
            .flops_per_nanosecond = 46'900,
            .bytes_per_nanosecond = 3'840};
}

/// One training step, if nothing else is said in half precision on a device of 100 TFLOP/s and 1 TB/s: embedding, per layer LayerNorm,
/// q, k, v, scores, softmax, dropouts, projections and MLP, then the loss and the backward part with separate
/// ops for the gradients of data and of weights. Parameters are resident, their gradients are results, matrix
/// products have workspaces. About 81 ops a layer, 126 with attention to an encoder; passes `validate`.
Graph gpt_graph(const GptShape& shape);

}  // namespace rematlas
