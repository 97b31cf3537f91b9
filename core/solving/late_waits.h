// Moves steps that would wait for a collective to later places in a schedule.
#pragma once

#include <vector>

#include "core/solving/beside_compute.h"

namespace rematlas {

/// Returns the steps in a new order. A step that would wait for a collective, for example the free of a
/// collective's input, is placed after later steps that do not depend on it, if the budget allows this.
/// Returns `steps` if they cannot be simulated.
std::vector<Step> with_late_waits(const MovedSteps& moved, std::vector<Step> steps);

}  // namespace rematlas
