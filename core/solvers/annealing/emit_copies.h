// The steps of runs with gaps that tensors are away in.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"
#include "core/solvers/annealing/planned_copies.h"

namespace rematlas::annealing {

struct EmittedCopies {
    std::vector<Step> steps;
    Homes homes;
};

/// In the order of the model, so that the bytes at each run are those of the profile; how long it takes, and whether
/// a step would touch what is under way, says `simulate`. The copies must be settled. A copy on the host is dropped when
/// it was fetched for the last time. A resident that leaves lives on the host; where it is there too late, or is not gone at the end, the
/// step begins, or ends, with its copy. Cost: linear.
EmittedCopies emit(const CopyGraph& graph, const RunProfile& profile, const PlannedCopies& copies);

}  // namespace rematlas::annealing
