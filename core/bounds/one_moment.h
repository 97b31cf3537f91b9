// A proven lower bound on the overhead of every schedule within a budget, for every order and any number of
// reruns (without offloading).
//
// A moment is the first run of a required op b. While b runs, the tensors on the device, the outputs of b and
// its workspace must fit the budget. If an op that runs later reads a tensor that is not on the device during
// the moment, then the tensor's maker must run again after the moment. The tensors to keep during b and the
// ops to run after b are chosen at the least cost, with a price for each byte kept. This choice is a minimum
// cut. Each price gives a bound, and the best price gives the optimum of the linear relaxation. Capacities
// are whole numbers, rounded so that the bound holds to the last bit.
//
//     OverheadBound bound = overhead_lower_bound(flat, budget, {.time = 200ms});
//     if (solution.overhead <= bound.overhead * 1.0001) ...  // nothing better is possible
//
// Source: a cut through the rows of the MILP of Jain et al. (Checkmate, MLSys 2020) at one moment, with a
// price on its memory row (Lagrangian relaxation). The search for the price follows the breakpoints of a
// parametric minimum cut (Eisner and Severance 1976).
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "core/base/ids.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

struct BoundLimits {
    std::chrono::nanoseconds time = std::chrono::milliseconds(500);  ///< wall clock for the whole call
    std::stop_token stop = {};                                       ///< a stop request is seen within 50 ms
    /// The most ops tried as the moment, at least 1. Moments that are likely to give a good bound come first.
    int moments = 5000;
};

struct OverheadBound {
    double overhead = 0;  ///< no schedule within the budget has a smaller overhead
    /// Number of moments evaluated. If it is 0, the bound counts only the required runs.
    int moments = 0;
    double seconds = 0;  ///< wall clock of the call
};

/// Returns the best bound over many moments. It is at least the time of the required ops divided by the time
/// of the step, and infinite if no schedule keeps the budget. Never fails: when the time is over, it returns
/// the best bound so far. More time never gives a smaller bound. Cost: per moment about 0.1 ms for 700 ops
/// and 2 ms for 10,000; all moments of 700 ops take 0.07 s.
OverheadBound overhead_lower_bound(const FlatGraph& graph, Bytes budget, const BoundLimits& limits = {});

/// Says whether `bound` proves that a schedule that takes `time` is optimal. A relative difference of up to
/// 1e-9 counts as none, because libraries that compute in doubles are not more precise.
inline bool proves_optimal(std::int64_t bound, std::int64_t time) {
    return static_cast<double>(time) <= static_cast<double>(bound) * (1 + 1e-9);
}

}  // namespace rematlas
