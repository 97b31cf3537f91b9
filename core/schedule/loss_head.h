// The loss head of a training step: the last matrix product of the forward pass, the logits that it makes,
// their loss and their gradients. Its tensors grow with tokens x vocabulary. No schedule lowers their
// memory, because the step needs all of them at once. When the head is computed by chunks of tokens, only
// the tensors of one chunk are there at once.
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
    OpId product;                     ///< makes the logits from hidden states and weights
    std::vector<TensorId> by_tokens;  ///< logits, tensors of the loss made from them, gradients; by id
    std::vector<OpId> backward;   ///< ops of the loss and the backward that work on `by_tokens` alone; by id
    std::vector<TensorId> sums;   ///< gradients of weights and hidden states; chunks are summed into them
    bool loss_is_inside = false;  ///< false: the caller computes the loss, perhaps not token by token
};

/// Finds the head by the inputs and outputs of ops, not by names of tensors or modules. Returns nothing
/// where the last product of the forward pass does not read weights, or where an op between this product and
/// the loss may treat several tokens together. Cost: linear.
std::optional<LossHead> loss_head(const Graph& graph);

struct ChunkedLossHead {
    int chunks = 0;
    Bytes needs;  ///< bytes of the loss head at the moment of the peak
    Bytes peak;   ///< of the whole step without recomputation, with the gradients summed over the chunks
};

/// How many bytes of the peak of the step without recomputation the loss head takes.
struct LossHeadMemory {
    LossHead head;
    std::string module;  ///< of the product
    Bytes needs;
    Bytes peak;                                ///< of the whole step
    std::array<ChunkedLossHead, 3> in_chunks;  ///< 2, 4 and 8
};

/// Returns nothing where the graph has no loss head, or where 8 chunks would lower the peak by less than a
/// fiftieth of its bytes that are not resident. `flat` is the flat graph of `graph`. Cost: linear.
std::optional<LossHeadMemory> loss_head_at_peak(const Graph& graph, const FlatGraph& flat);

/// "the loss head needs 3.43 GiB of the peak; in 8 chunks of tokens it would need 438 MiB ..."
std::string told(const LossHeadMemory& memory);

/// An object with all bytes, and the text of `told`.
nlohmann::json json_of(const LossHeadMemory& memory);

}  // namespace rematlas
