// Sends tensors away until all runs have room: as a first choice, or to mend another one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

/// Adds gaps to `away` until Lifetimes::memory keeps the budget. At the run that is furthest above the
/// budget, the tensor with the most bytes * idle time that the run does not need goes, again and again.
/// Tensors below `least_copy` go only if nothing else helps. Returns false if a run is left without room.
/// Cost: linear in the gaps and the runs for each gap that is added.
bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away);

}  // namespace rematlas::offmate
