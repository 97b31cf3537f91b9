// The ops and tensors of a graph that pins are about (core/schedule/pin.h says what patterns mean).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/pin.h"

namespace rematlas {

/// A pin that every schedule obeys, so that the pin has no effect.
struct IdlePin {
    std::size_t pin;  ///< index of the pin in the list
    std::string why;  ///< "pin 'gelu=recompute' asks for nothing: ..."
};

struct PinnedOps {
    IdVector<OpId, std::uint8_t> keep;            ///< does not run a second time
    IdVector<TensorId, std::uint8_t> made_again;  ///< not handed over from the forward to the backward pass
    OpId loss;  ///< the last op of the loss, where the backward pass begins; invalid without a loss
    std::vector<IdlePin> idle;  ///< ascending
};

/// Errors, each naming a pin: a pin that matches nothing, two pins that contradict each other, an op to be
/// made again that may run only once, a recompute pin on a tensor that the forward pass does not make or
/// that is a result, a pin on a parameter or another tensor that no op makes.
Result<PinnedOps> pinned_ops(const Graph& graph, const Pins& pins);

/// True when the whole of `name` matches; a `*` in the pattern stands for any characters but a dot.
bool matches_pattern(std::string_view pattern, std::string_view name);

/// The ops that a pin is about, ascending: those that a keep pin matches, or the makers of the tensors that
/// a recompute pin has made again. Errors: the pin matches nothing that it can be about.
Result<std::vector<OpId>> ops_of_pin(const Graph& graph, const Pin& pin);

/// The last op of the loss in the graph's order; invalid where there is none.
OpId last_loss_op(const Graph& graph);

}  // namespace rematlas
