// Moves collectives forward, so that their results are there when they are read.
#pragma once

#include <vector>

#include "core/solving/beside_compute.h"

namespace rematlas {

/// Returns the steps in which each collective begins as late as it can and still be over when its result is
/// read; earlier ones of its queue are over before it. Ops that make its inputs move along if they are short.
/// A collective moves only as far as the budget allows. The steps must be possible; those returned are
/// possible and within the budget if `steps` are. Returns `steps` if they cannot be simulated.
std::vector<Step> with_early_collectives(const MovedSteps& moved, std::vector<Step> steps);

}  // namespace rematlas
