// Synthetic training graphs of a GPT, for benches and tests of large graphs.
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

struct GptShape {
    int layers = 12;
    std::int64_t batch = 4, sequence = 1024, width = 768, heads = 12;
    std::int64_t vocabulary = 50257;
    int encoder_layers = 0;  ///< before them; each of `layers` then attends to the last one's output, too
};

/// One training step in half precision on a device of 100 TFLOP/s and 1 TB/s: embedding, per layer LayerNorm,
/// q, k, v, scores, softmax, dropouts, projections and MLP, then the loss and the backward part with separate
/// ops for the gradients of data and of weights. Parameters are resident, their gradients are results, matrix
/// products have workspaces. About 81 ops a layer, 126 with attention to an encoder; passes `validate`.
Graph gpt_graph(const GptShape& shape);

}  // namespace rematlas
