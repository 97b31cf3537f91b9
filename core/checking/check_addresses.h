// The independent checker of planned addresses: shares no code with the planner.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Replays the steps, gives each lifetime and each workspace the next offset (residents come first, then
/// step by step the outputs in the op's order and the workspace), and compares every range that is taken
/// with every range held then, in exact bytes. Without `residents`, residents have no offsets, because they
/// live elsewhere. Residents that `homes` keeps on the host get an offset with each fetch. Errors: the first
/// step at which two ranges overlap, an output of a run in place does not start where its input starts, an
/// offset is not aligned, or a range leaves the arena; then a number of offsets that is not the number of
/// lifetimes. The steps must be possible (`check`). Cost: the number of runs times the number of tensors
/// alive.
Result<void> check_addresses(const Graph& graph, const std::vector<Step>& steps, const Addresses& addresses,
                             bool residents = true, const Homes& homes = {});

}  // namespace rematlas
