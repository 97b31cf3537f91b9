// Reorders the steps of a schedule so that collective communication overlaps with compute: collectives begin
// earlier, and steps that would wait for a collective come later.
//
//     const MovedSteps to_move{graph, schedule.homes, schedule.links, budget};
//     const std::vector<Step> moved = beside_compute(to_move, schedule.steps, limits);
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/solving/limits.h"

namespace rematlas {

/// The training step whose schedule is reordered, and the limits that the new order must keep.
struct MovedSteps {
    const Graph& graph;
    const Homes& homes;
    std::optional<Links> links = {};  ///< as in `simulate`
    Bytes budget;                     ///< limit on the peak on the device
    std::optional<Bytes> host_budget = {};
};

/// Returns the steps in a new order, in which the training step takes at most as long as before. No step is
/// added or removed, and each step reads the same values. Returns `steps` unchanged if no better order is
/// found, if they cannot be simulated, or if the graph has no queues of collectives. The time limit is
/// checked between attempts. The cost of an attempt is proportional to the number of steps times the number
/// of collectives.
std::vector<Step> beside_compute(const MovedSteps& moved, std::vector<Step> steps, const Limits& limits);

}  // namespace rematlas
