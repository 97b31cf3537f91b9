// The least memory that a step needs within a limit on its time.
//
//     Result<LeastPeak> least = least_peak_within({graph, flat}, Nanoseconds(flat.base_time * 11 / 10));
//     if (least && least->bound > budget) ...   // not even with +10 % time, in Checkmate's class
//
// Source: Jain et al., "Checkmate" (MLSys 2020), where the batch is maximized: the bytes of a step are fixed
// ones and others that grow with the batch, and the largest batch is that whose least peak meets the budget.
// The programme and the class of its schedules are described in staged_model.h.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/checkmate/checkmate.h"
#include "core/solving/solver.h"

namespace rematlas {

struct LeastPeakOptions {
    MilpLibrary library = CheckmateOptions{}.library;
    double gap = 1e-4;  ///< of the bytes beside the residents, at which the search ends
    /// A bound above this budget ends the search, because larger peaks are of no use.
    std::optional<Bytes> budget = {};
    bool first = false;   ///< the first schedule that keeps the budget ends the search, too
    RunSequence start{};  ///< a schedule to start from, or empty; it need not be one of this graph
};

struct LeastPeak {
    RunSequence runs;  ///< executable; any order, where the start is of another class and better
    Bytes peak;        ///< of `runs`, as cost_of counts
    Nanoseconds time;  ///< of `runs`, at most the limit
    Bytes bound;      ///< no schedule of Checkmate's class within the time has a smaller peak; at most `peak`
    Bytes any_order;  ///< no schedule at all within the time has a smaller peak; at most `bound`
    Status status = Status::feasible;  ///< optimal: `peak` is within the gap of `bound`
    std::int64_t nodes = 0;            ///< of the branch and bound
};

/// Finds a start by atlas at falling budgets and a bound over any order (best_bound.h). Then it solves the
/// programme if these leave something open and the graph has at most 600 ops. `bound` is rounded up to bytes
/// that a schedule can have, after a margin of 1e-7 of the bytes beside the residents for the tolerances of
/// the library. Ends within `limits.time` and 100 ms of a stop. Useful up to about 200 ops. Errors: this
/// build lacks the library; the required ops alone take more time than `most_time`.
Result<LeastPeak> least_peak_within(const Problem& problem, Nanoseconds most_time, const Limits& limits = {},
                                    const LeastPeakOptions& options = {});

}  // namespace rematlas
