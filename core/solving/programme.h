// A mixed-integer programme as one step of a solver: its library, its time limit, and its solutions as they
// come.
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
    std::chrono::nanoseconds time = std::chrono::seconds(2);  ///< wall clock for one programme
    double gap = 1e-4;                                        ///< relative gap at which it ends
};

/// Hands each solution in whole numbers that is better than those before to `take`. `start`: a feasible
/// point, or empty. Ends within 50 ms of the deadline.
void run_programme(std::shared_ptr<const MilpModel> model, std::vector<double> start,
                   const ProgrammeLimits& limits, const Deadline& deadline,
                   const std::function<void(std::span<const double>)>& take);

}  // namespace rematlas
