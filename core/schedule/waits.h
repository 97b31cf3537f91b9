// When compute stands still for what goes on beside it.
#pragma once

#include <vector>

#include "core/schedule/simulate.h"

namespace rematlas {

/// A time in which a step waits for what is under way.
struct Wait {
    Nanoseconds start, end;
    int step = 0;  ///< that waits; of a wait for the end, the last one
    int for_step =
        -1;  ///< whose copy or run on the host it waits for; -1: an earlier step of training began it
};

/// In order. Cost: linear in the steps.
std::vector<Wait> waits_of(const std::vector<Step>& steps, const Simulation& simulation);

}  // namespace rematlas
