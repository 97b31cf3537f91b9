// Writes runs, and the gaps in which tensors are away from the device, as the steps of a schedule.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"
#include "core/solvers/annealing/planned_copies.h"

namespace rematlas::annealing {

struct EmittedCopies {
    std::vector<Step> steps;
    Homes homes;
};

/// Writes the steps in the order of the model (planned_copies.h), so that the bytes at each run equal the
/// bytes in the profile. `simulate` finds how long the steps take, and whether a step would touch a tensor
/// that is being copied. `copies` must be settled. A copy on the host is dropped after its last fetch. A
/// resident that is away in any gap lives on the host. If such a resident is not away at the start, the step
/// begins with its fetch. If it is not away at the end, the step ends with its free; if the step has updated
/// it, it is offloaded before that. Cost: linear.
EmittedCopies emit(const CopyGraph& graph, const RunProfile& profile, const PlannedCopies& copies);

}  // namespace rematlas::annealing
