// A proven lower bound on the overhead of every schedule within a budget, for every order and any number of
// reruns (without offloading).
//
// A moment is the first run of a required op b. While b runs, the tensors on the device, the outputs of b
// and its workspace fit the budget. An op that runs later and reads a tensor that is not on the device
// during the moment needs the tensor's maker to run again after the moment. The cheapest choice of the
// tensors kept during b and of the ops that run after b, at a price for each byte kept, is a minimum cut.
// Each price gives a bound, and the best price gives the optimum of the linear relaxation. Capacities are
// whole numbers, rounded so that the bound holds to the last bit.
//
//     OverheadBound bound = overhead_lower_bound(flat, budget, {.time = 200ms});
//     if (solution.overhead <= bound.overhead * 1.0001) ...  // nothing better is possible
//
// Source: a cut through the rows of the MILP of Jain et al. (Checkmate, MLSys 2020) at one moment, with its
// memory row priced (Lagrangian relaxation); the search for the price follows the breakpoints of a parametric
// minimum cut (Eisner and Severance 1976).
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "core/base/ids.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

struct BoundLimits {
    std::chrono::nanoseconds time = std::chrono::milliseconds(500);  ///< wall clock for the whole call
    std::stop_token stop = {};                                       ///< checked at least every 50 ms
    int moments = 5000;  ///< ops tried as the moment, at least 1, in an order that soon finds good ones
};

struct OverheadBound {
    double overhead = 0;  ///< no schedule within the budget has a smaller one
    int moments = 0;      ///< moments that were evaluated; at 0 the bound counts only the required runs
    double seconds = 0;   ///< wall clock of the call
};

/// The best bound over many moments. It is at least the time of the required ops over that of the step, and
/// infinite when no schedule keeps the budget. The function never fails: with no time left it returns the
/// best bound so far. A larger time never gives a smaller bound. Cost: about 0.1 ms a moment for 700 ops, 2
/// ms for 10,000; all moments of 700 ops in 0.07 s.
OverheadBound overhead_lower_bound(const FlatGraph& graph, Bytes budget, const BoundLimits& limits = {});

/// Whether `bound` proves that a schedule of `time` is optimal, to a relative 1e-9. Libraries that compute
/// in doubles cannot tell more.
inline bool proves_optimal(std::int64_t bound, std::int64_t time) {
    return static_cast<double>(time) <= static_cast<double>(bound) * (1 + 1e-9);
}

}  // namespace rematlas
