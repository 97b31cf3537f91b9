// Finds the ops and tensors of a graph that pins match (core/schedule/pin.h defines the patterns).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/pin.h"

namespace rematlas {

/// A pin that every schedule obeys, so it has no effect.
struct IdlePin {
    std::size_t pin;  ///< index of the pin in the list
    std::string why;  ///< "pin 'gelu=recompute' asks for nothing: ..."
};

struct PinnedOps {
    IdVector<OpId, std::uint8_t> keep;  ///< per op: whether it must not run a second time
    /// Per tensor: whether it must be made again in the backward, not kept from the forward.
    IdVector<TensorId, std::uint8_t> made_again;
    /// The last op of the loss, after which the backward begins; invalid if there is no loss.
    OpId loss;
    std::vector<IdlePin> idle;  ///< in the order of the pins
};

/// Fails if a pin matches nothing, if two pins contradict each other, if an op that may run only once would
/// have to run again, if a recompute pin names a tensor that the forward does not make or that is a result,
/// or if a pin names a parameter or another tensor that no op makes. Errors name the pin.
Result<PinnedOps> pinned_ops(const Graph& graph, const Pins& pins);

/// Says whether the pattern matches the whole name; a `*` in the pattern matches any characters except dots.
bool matches_pattern(std::string_view pattern, std::string_view name);

/// Returns the ops that a pin affects, ascending: the ops that a keep pin matches, or the makers of the
/// tensors that a recompute pin matches. Fails if the pin matches nothing that it can affect.
Result<std::vector<OpId>> ops_of_pin(const Graph& graph, const Pin& pin);

/// Returns the last op of the loss in the graph's order; invalid if there is none.
OpId last_loss_op(const Graph& graph);

}  // namespace rematlas
