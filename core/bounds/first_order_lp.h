// Linear programmes by a first-order method: a bound at any time, no factorization, memory linear in the
// entries.
//
//     const DualBest best = solve_relaxation(relaxation.programme(), {.iterations = 5000});
//     use(best.value.bound);                     // proven, however far the method got
//
// Source: primal-dual hybrid gradient (Chambolle and Pock 2011) with the diagonal scaling, the restarts and
// the balance of primal and dual steps of PDLP (Applegate et al., NeurIPS 2021) and the reflected Halpern
// iteration of Lu and Yang (2024).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/bounds/dual_value.h"
#include "core/milp/milp.h"

namespace rematlas {

struct FirstOrderLimits {
    int iterations = 20'000;
    std::function<bool()> stop = [] { return false; };               ///< asked in every iteration
    std::int64_t enough = std::numeric_limits<std::int64_t>::max();  ///< a bound so high ends the search
    double least_gain = 1e-6;  ///< relative gain of the bound in 2,000 iterations; with less the search ends
    /// Makes multipliers better before they are evaluated, by what the caller knows of the programme.
    std::function<void(std::span<double>)> improve = {};
};

struct DualBest {
    DualValue value;
    std::vector<double> multipliers;  ///< the multipliers that prove `value`
    int iterations = 0;
};

/// The best dual value that the iteration finds; at least the value of multipliers that are all 0.
/// `programme` must be one that `dual_value` takes.
DualBest solve_relaxation(const MilpModel& programme, const FirstOrderLimits& limits);

}  // namespace rematlas
