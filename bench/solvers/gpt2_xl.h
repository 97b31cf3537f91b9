// The step of a GPT-2 XL with AdamW, for benches of copies.
#pragma once

#include "tests/core/support/gpt_graph.h"

namespace rematlas {

/// `on_host`: whether the updates may also run on a host with a memory of 200 GB/s.
inline Graph gpt2_xl_step(bool on_host) {
    const GptShape shape = gpt2_xl_with_adamw();
    Graph graph = gpt_graph(shape);
    for (Op& op : graph.ops)
        if (on_host && op.phase == Phase::optimizer)
            op.host_time = Nanoseconds(static_cast<std::int64_t>(static_cast<double>(op.time.value) *
                                                                 shape.bytes_per_nanosecond / 200));
    return graph;
}

}  // namespace rematlas
