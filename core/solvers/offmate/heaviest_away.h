// A first choice of what is away, and the mending of any other: until all runs have room.
#pragma once

#include <cstdint>
#include <vector>

#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

/// More gaps away, until Lifetimes::memory keeps the budget: at the run that is furthest above it, the tensor
/// with the most bytes times idle time that need not be there, again and again. False where a run is left
/// without room. Tensors below `least_copy` only where nothing else helps. Cost: gaps * log(gaps), and near
/// linear in the runs for each that is added.
bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away);

}  // namespace rematlas::offmate
