// Moves collectives to earlier places in a schedule, so that their results are ready when they are read.
#pragma once

#include <vector>

#include "core/solving/beside_compute.h"

namespace rematlas {

/// Moves each collective to the latest place from which it ends before its result is read and before the next
/// collective of its queue begins. Steps on which it depends move with it if they take little time. A
/// collective stops before a place at which the budget would be exceeded. If `steps` keep the budget, the
/// returned steps do, too. Returns `steps` if they cannot be simulated.
std::vector<Step> with_early_collectives(const MovedSteps& moved, std::vector<Step> steps);

}  // namespace rematlas
