// Finds the times in which compute waits for copies, for ops on the host or for collectives.
#pragma once

#include <vector>

#include "core/schedule/simulate.h"

namespace rematlas {

/// A time in which a step of the schedule waits for a copy, for an op on the host or for a collective.
struct Wait {
    Nanoseconds start, end;
    int step = 0;       ///< the step that waits; for a wait at the end, the last step
    int for_step = -1;  ///< the step that started the awaited work; -1 if an earlier training step did
};

/// Returns the waits, in order. Cost: linear in the steps.
std::vector<Wait> waits_of(const std::vector<Step>& steps, const Simulation& simulation);

}  // namespace rematlas
