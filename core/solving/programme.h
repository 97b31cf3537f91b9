// Solves a mixed-integer program within a solver, with a time limit. The caller gets each solution when it is
// found.
//
//     run_programme(model, start, {.time = 2s}, deadline, [&](std::span<const double> values) { ... });
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/milp/milp.h"
#include "core/solving/limits.h"

namespace rematlas {

struct ProgrammeLimits {
    MilpLibrary library = milp_libraries().empty() ? MilpLibrary::highs : milp_libraries().front();
    std::chrono::nanoseconds time = std::chrono::seconds(2);  ///< wall clock time for one integer program
    double gap = 1e-4;                                        ///< relative gap at which the search ends
};

/// Calls `take` with each integer solution that is better than all earlier ones. `start`: the values of a
/// feasible solution, or empty. Returns at most 50 ms after the deadline.
void run_programme(std::shared_ptr<const MilpModel> model, std::vector<double> start,
                   const ProgrammeLimits& limits, const Deadline& deadline,
                   const std::function<void(std::span<const double>)>& take);

}  // namespace rematlas
