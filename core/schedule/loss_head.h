// The loss head of a training step: the last matrix product of the forward, the logits that it makes, their
// loss and their gradients. Its tensors grow with tokens x vocabulary, and no schedule takes them away, for
// they are there at once; computed by chunks of tokens, those of one chunk are.
//
//     if (const auto found = loss_head_at_peak(graph, flat)) std::puts(told(*found).c_str());
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct LossHead {
    OpId product;                     ///< makes the logits of hidden states and weights
    std::vector<TensorId> by_tokens;  ///< the logits, what the loss makes of them, and their gradients; by id
    std::vector<OpId> backward;   ///< the ops of the loss and the backward that work on these alone; by id
    std::vector<TensorId> sums;   ///< gradients of weights and hidden states; chunks are summed into them
    bool loss_is_inside = false;  ///< else the caller computes it, and nobody knows whether by tokens
};

/// Follows what the ops read and make, not names of tensors or modules. Nothing where the last product of the
/// forward does not read weights, or where an op between it and the loss may treat several tokens together.
/// Cost: linear.
std::optional<LossHead> loss_head(const Graph& graph);

struct ChunkedLossHead {
    int chunks = 0;
    Bytes needs;  ///< what the loss head would need at the moment of the peak
    Bytes peak;   ///< of the whole step without recomputation; where gradients are summed over the chunks
};

/// This says what the loss head takes of the peak of the step without recomputation.
struct LossHeadMemory {
    LossHead head;
    std::string module;  ///< of the product
    Bytes needs;
    Bytes peak;                                ///< of the whole step
    std::array<ChunkedLossHead, 3> in_chunks;  ///< 2, 4 and 8
};

/// Nothing where there is no loss head, or where 8 chunks would lower the peak by less than a fiftieth of
/// what is not resident in it. `flat` is the graph's. Cost: linear.
std::optional<LossHeadMemory> loss_head_at_peak(const Graph& graph, const FlatGraph& flat);

/// "the loss head needs 3.43 GiB of the peak; in 8 chunks of tokens it would need 438 MiB ..."
std::string told(const LossHeadMemory& memory);

/// An object with all bytes, and the text of `told`.
nlohmann::json json_of(const LossHeadMemory& memory);

}  // namespace rematlas
