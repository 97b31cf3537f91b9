// Solves linear programs by a first-order method. The method has a valid bound at any time, factorizes no
// matrix, and needs memory linear in the entries.
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
    std::function<bool()> stop = [] { return false; };               ///< called in every iteration; returns
                                                                     ///< true to end
    std::int64_t enough = std::numeric_limits<std::int64_t>::max();  ///< the search ends when the bound
                                                                     ///< reaches this value
    /// The search ends if the bound gains less than this share in 2,000 iterations.
    double least_gain = 1e-6;
    /// Called before multipliers are evaluated. The caller can use its knowledge of the program to improve
    /// them.
    std::function<void(std::span<double>)> improve = {};
};

struct DualBest {
    DualValue value;
    std::vector<double> multipliers;  ///< the multipliers that prove `value`
    int iterations = 0;
};

/// Returns the best dual value found. It is at least the value for multipliers that are all 0. `programme`
/// must have the form that `dual_value` requires.
DualBest solve_relaxation(const MilpModel& programme, const FirstOrderLimits& limits);

}  // namespace rematlas
