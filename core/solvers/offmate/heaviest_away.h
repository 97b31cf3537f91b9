// Decides which tensors are moved to the host, so that all runs fit the budget. The search starts from a
// given decision that still exceeds the budget; this can be the decision to move nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

/// Adds gaps to `away` until Lifetimes::memory is within the budget. Repeatedly takes the run furthest above
/// the budget. Of the tensors that this run does not need, the one with the largest idle time * bytes leaves;
/// bytes beyond the run's excess do not count. Tensors below `least_copy` leave only if nothing else helps.
/// Returns false if some run cannot be brought within the budget. Cost: linear in the gaps and the runs for
/// each added gap.
bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away);

}  // namespace rematlas::offmate
