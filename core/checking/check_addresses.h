// The independent checker of planned addresses. It shares no code with the planner.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Replays the steps and takes the offsets in order. The first offsets belong to the residents. Then each run
/// takes an offset for each output in the op's order, and one for its workspace if it has one; each fetch
/// takes one for its tensor. Compares every new range with all ranges held at that time, in exact bytes. If
/// `residents` is false, the residents that are on the device at the start have no offsets, because they are
/// not in the arena. Fails at the first step at which two ranges overlap, an output of a run in place does
/// not start where its input starts, an offset is not aligned, or a range reaches outside the arena. Also
/// fails if the number of offsets is not the number of lifetimes and workspaces. The steps must be valid (see
/// `check`). Cost: the number of runs times the number of live tensors.
Result<void> check_addresses(const Graph& graph, const std::vector<Step>& steps, const Addresses& addresses,
                             bool residents = true, const Homes& homes = {});

}  // namespace rematlas
