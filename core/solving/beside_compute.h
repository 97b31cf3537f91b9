// Moves the steps of a schedule so that collectives run beside compute: gathers begin before their results
// are read, and steps that would wait for a collective come later.
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

/// The step whose steps are moved, and the limits that the moved steps keep.
struct MovedSteps {
    const Graph& graph;
    const Homes& homes;
    std::optional<Links> links = {};  ///< as in `simulate`
    Bytes budget;                     ///< for the peak on the device
    std::optional<Bytes> host_budget = {};
};

/// Returns the steps in an order in which the step takes at most as long as before. No step is added or left
/// out, and each step finds the same values. Returns `steps` if no better order is found, or if they cannot
/// be simulated. The time limit is looked at between attempts; an attempt is linear in the steps, times the
/// number of collectives. Graphs without queues are not changed.
std::vector<Step> beside_compute(const MovedSteps& moved, std::vector<Step> steps, const Limits& limits);

}  // namespace rematlas
