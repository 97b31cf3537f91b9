// Writes the steps of a schedule in which tensors are away between runs: it says when each tensor is
// offloaded, freed, fetched and dropped.
//
//     const Emitted emitted = copying_steps(graph, flat, lives, away, {.links = links, .budget = budget});
//     if (emitted.fits) simulate(graph, emitted.steps, emitted.homes);
//
// The steps are written in order beside a clock of their own (schedule/side_queues.h). A tensor that will be
// away is offloaded as soon as it is made or changed. It is freed when its copy is done and no run reads it
// before it comes back; if a run needs the room earlier, the free waits for the copy. Tensors are fetched in
// the order in which they are read, as early as there is room until then (`eager`) or as late as they still
// arrive in time. A tensor is fetched at the latest for the run that reads it, which then waits. So the
// bytes on the device never exceed the budget where those of Lifetimes::memory do not, and no tensor is
// touched while it is being copied.
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
    std::optional<std::int64_t> host_budget = {};  ///< and on the host
    bool eager = true;
};

struct Emitted {
    std::vector<Step> steps;
    Homes homes;
    bool fits = false;      ///< false: the steps end where there was no room
    std::int64_t time = 0;  ///< ns, of the whole step
};

/// `away` is as for Lifetimes::memory, and true for all gaps of `least_away`. Cost: near linear, except for
/// the search for room ahead (runs between a fetch and its reader).
Emitted copying_steps(const Graph& graph, const FlatGraph& flat, const Lifetimes& lives,
                      const std::vector<char>& away, const EmissionLimits& limits);

}  // namespace rematlas::offmate
