// Moves steps back that would wait for a collective.
#pragma once

#include <vector>

#include "core/solving/beside_compute.h"

namespace rematlas {

/// Returns the steps in an order in which a step that would wait for a collective, such as the free of its
/// input, lets later steps go first that do not depend on it. The budget limits what may go first. Returns
/// `steps` if they cannot be simulated.
std::vector<Step> with_late_waits(const MovedSteps& moved, std::vector<Step> steps);

}  // namespace rematlas
