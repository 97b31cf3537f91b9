// The loss head of a training step: the last matrix product of the forward pass, the logits that it makes,
// their loss and their gradients. The tensors of the head grow with tokens x vocabulary. No schedule lowers
// their memory, because the step needs all of them at once. If the head is computed in chunks of tokens, only
// the tensors of one chunk exist at once.
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
    OpId product;                     ///< op that makes the logits from hidden states and weights
    std::vector<TensorId> by_tokens;  ///< logits, tensors made from them, and gradients; sorted by id
    std::vector<OpId> backward;       ///< ops of the phases loss and backward that read `by_tokens` and make
                                      ///< no `sums`; sorted by id
    std::vector<TensorId> sums;       ///< gradients of weights and hidden states, to which each chunk adds
    bool loss_is_inside = false;      ///< false: the caller computes the loss, which need not be a sum over
                                      ///< tokens
};

/// Finds the head by the inputs and outputs of ops, not by names of tensors or modules. Returns nothing if
/// the last product of the forward pass does not read weights, or if an op between this product and the loss
/// may treat several tokens together. Cost: linear.
std::optional<LossHead> loss_head(const Graph& graph);

struct ChunkedLossHead {
    int chunks = 0;
    /// Bytes of the loss head in chunks, during the op at which the step without chunks has its peak.
    Bytes needs;
    /// Peak of the whole step without recomputation if the loss head is computed in chunks. `LossHead::sums`
    /// count as held during the whole backward of the head.
    Bytes peak;
};

/// The bytes that the loss head takes at the peak of the step without recomputation.
struct LossHeadMemory {
    LossHead head;
    std::string module;  ///< module of the product
    Bytes needs;
    Bytes peak;                                ///< peak of the whole step
    std::array<ChunkedLossHead, 3> in_chunks;  ///< for 2, 4 and 8 chunks
};

/// Returns the bytes of the loss head at the peak. Returns nothing if the graph has no loss head, or if 8
/// chunks would lower the peak by less than 1/50 of (peak - bytes of residents). `flat` must be the flat
/// graph of `graph`. Cost: linear.
std::optional<LossHeadMemory> loss_head_at_peak(const Graph& graph, const FlatGraph& flat);

/// Returns a text such as "the loss head needs 3.43 GiB of the peak; in 8 chunks of tokens it would need 438
/// MiB ...".
std::string told(const LossHeadMemory& memory);

/// Returns an object with all bytes, and with the text of `told`.
nlohmann::json json_of(const LossHeadMemory& memory);

}  // namespace rematlas
