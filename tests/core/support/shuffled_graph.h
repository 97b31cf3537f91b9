// Returns the same training step with other ids.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

/// Renumbers the tensors at random, and orders the ops at random such that each runs after the makers of its
/// inputs. The result passes `validate` if `graph` does.
Graph shuffled(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
