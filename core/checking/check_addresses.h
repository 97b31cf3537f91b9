// The independent checker of planned addresses. It shares no code with the planner.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Replays the steps and gives the next offset to each lifetime and each workspace: residents first, then
/// step by step, for a run the outputs in the op's order and the workspace, and for a fetch the tensor.
/// Compares every new range with all ranges held at that time, in exact bytes. If `residents` is false, the
/// residents that are on the device at the start have no offsets, because they are not in the arena. Fails at
/// the first step at which two ranges overlap, an output of a run in place does not start where its input
/// starts, an offset is not aligned, or a range reaches outside the arena. Also fails if the number of
/// offsets is not the number of lifetimes and workspaces. The steps must be valid (see `check`). Cost: the
/// number of runs times the number of live tensors.
Result<void> check_addresses(const Graph& graph, const std::vector<Step>& steps, const Addresses& addresses,
                             bool residents = true, const Homes& homes = {});

}  // namespace rematlas
