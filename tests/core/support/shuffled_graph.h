// Renumbers the tensors and reorders the ops of a training step.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace rematlas {

/// Renumbers the tensors at random. Reorders the ops at random, but each op stays after the makers of its
/// inputs. The result passes `validate` if `graph` does.
Graph shuffled(const Graph& graph, std::uint64_t seed);

}  // namespace rematlas
