// The independent checker of planned addresses: shares no code with the planner.
#pragma once

#include <vector>

#include "core/addresses/address_plan.h"

namespace rematlas {

/// Replays the steps and compares every range that is taken with every range held then, byte by byte wide.
/// Errors: the first place, by step, where two overlap, a lifetime has no placement or the wrong end or size,
/// a run in place moves its output, an offset is not aligned, or a range leaves the arena; then a placement
/// that no step takes. The steps must be possible (`check`). Cost: runs times what is alive.
Result<void> check_addresses(const Graph& graph, const std::vector<Step>& steps, const AddressPlan& plan,
                             const AddressOptions& options = {});

}  // namespace rematlas
