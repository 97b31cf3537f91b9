// The same training step with other ids.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

/// Tensors have other ids at random, ops run in another order that respects what they read. Passes `validate`
/// where `graph` does.
Graph shuffled(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
