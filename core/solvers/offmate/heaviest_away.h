// Moves tensors to the host until all runs have room. The decision may start from nothing or from another
// decision that breaks the budget.
#pragma once

#include <cstdint>
#include <vector>

#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

/// Adds gaps to `away` until Lifetimes::memory keeps the budget. The run furthest above the
/// budget is taken repeatedly. Among the tensors that it does not need, the tensor leaves for which idle time
/// * bytes is largest (bytes count up to the excess). Tensors below `least_copy` leave only if nothing else
/// helps. Returns false if some run does not get enough room. Cost: linear in the gaps and the runs for each
/// added gap.
bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away);

}  // namespace rematlas::offmate
