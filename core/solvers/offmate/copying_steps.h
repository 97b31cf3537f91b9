// Writes the steps of a schedule in which tensors are on the host between runs: it decides when each tensor
// is offloaded, freed, fetched and dropped.
//
//     const Emitted emitted = copying_steps(graph, flat, lives, away, {.links = links, .budget = budget});
//     if (emitted.fits) simulate(graph, emitted.steps, emitted.homes);
//
// The steps are written in order, while a clock is advanced (schedule/side_queues.h). A tensor that will be
// away is offloaded as soon as it is made or changed. The tensor is freed once its copy is done and no run
// before its fetch still reads it. If a run needs the memory earlier, the free waits for the copy. Tensors
// are fetched in the order in which they are read: as soon as there is room (`eager`), or so late that they
// just arrive in time. A tensor that was not fetched ahead is fetched for the run that reads it, and this run
// then waits. So the bytes on the device stay within the budget if the bytes of Lifetimes::memory do, and no
// tensor is touched while it is copied.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/links.h"
#include "core/schedule/schedule.h"
#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

struct EmissionLimits {
    Links links;
    std::int64_t budget = 0;                       ///< bytes on the device
    std::optional<std::int64_t> host_budget = {};  ///< bytes on the host
    bool eager = true;
};

struct Emitted {
    std::vector<Step> steps;
    Homes homes;
    bool fits = false;      ///< false if the steps end early because there was no room
    std::int64_t time = 0;  ///< ns for the whole step
};

/// Returns the steps. `away` is as for Lifetimes::memory, and must be true for all gaps of `least_away`.
/// Cost: nearly linear, except that for each fetch all runs up to the reader are checked for room for the
/// tensor.
Emitted copying_steps(const Graph& graph, const FlatGraph& flat, const Lifetimes& lives,
                      const std::vector<char>& away, const EmissionLimits& limits);

}  // namespace rematlas::offmate
