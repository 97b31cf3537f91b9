// Synthetic training graphs of GPTs, for benches and for tests that need large graphs.
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

struct GptShape {
    int layers = 12;
    std::int64_t batch = 4, sequence = 1024, width = 768, heads = 12;
    std::int64_t vocabulary = 50257;
    int encoder_layers = 0;  ///< layers of an encoder; if there are any, each decoder layer also attends to
                             ///< the encoder's output
    bool fused_attention = false;  ///< attention is one op, without saved scores and without dropout
    /// If true, the step ends with AdamW: one op for each parameter reads its gradient and updates the
    /// parameter and two states of the same size.
    bool adamw = false;
    std::int64_t number_bytes = 2;
    double flops_per_nanosecond = 100'000, bytes_per_nanosecond = 1'000;  ///< speeds of the device
};

/// GPT-2 XL in single precision with AdamW on 8 sequences, for a device with the speed of an H200.
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

/// Returns the graph of one training step. The default is half precision on a device of 100 TFLOP/s and 1
/// TB/s. The forward has an embedding, and for each layer LayerNorm, q, k, v, scores, softmax, dropouts,
/// projections and MLP. The loss follows, then the backward with separate ops for the gradients of data and
/// of weights. Parameters are resident, their gradients are results, matrix products have workspaces. A layer
/// has 56 ops, or 95 with attention to an encoder; AdamW adds 8 or 13. Passes `validate`.
Graph gpt_graph(const GptShape& shape);

}  // namespace rematlas
