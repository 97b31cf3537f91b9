// Finds the least memory that a step needs within a limit on its time.
//
//     Result<LeastPeak> least = least_peak_within({graph, flat}, Nanoseconds(flat.base_time * 11 / 10));
//     if (least && least->bound > budget) ...   // not even with +10 % time, in Checkmate's class
//
// Source: Jain et al., "Checkmate" (MLSys 2020), which looks for the largest batch. Some bytes of a step are
// fixed, others grow with the batch. The largest batch is the one whose least peak equals the budget.
// staged_model.h describes the integer program and the class of its schedules.
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
    double gap = 1e-4;  ///< the search ends at this gap, as a share of the peak without residents
    /// If the bound exceeds this budget, the search ends, because larger peaks are not useful.
    std::optional<Bytes> budget = {};
    bool first = false;   ///< whether the search also ends at the first schedule within the budget
    RunSequence start{};  ///< runs to start from, or empty; ignored if the graph cannot run them
};

struct LeastPeak {
    RunSequence runs;  ///< executable; not of Checkmate's class if another method found a better schedule
    Bytes peak;        ///< peak of `runs`, as computed by cost_of
    Nanoseconds time;  ///< time of `runs`, at most the limit
    Bytes bound;      ///< no schedule of Checkmate's class within the time has a smaller peak; at most `peak`
    Bytes any_order;  ///< no schedule of any class within the time has a smaller peak; at most `bound`
    Status status = Status::feasible;  ///< optimal if `peak` is within the gap of `bound`
    std::int64_t nodes = 0;            ///< nodes of the branch and bound
};

/// Finds a schedule with atlas at falling budgets, and a bound for any order of ops (best_bound.h). If there
/// is a gap between the two, and the graph has at most 600 ops, solves the integer program. The bound of the
/// program is lowered by 1e-7 of the bytes without the residents, which covers the tolerances of the library.
/// Then it is rounded up to a peak that a schedule can have. Ends within `limits.time`, and within 100 ms of
/// a request to stop. Useful up to about 200 ops. Errors: this build lacks the library; the required ops
/// alone take more time than `most_time`.
Result<LeastPeak> least_peak_within(const Problem& problem, Nanoseconds most_time, const Limits& limits = {},
                                    const LeastPeakOptions& options = {});

}  // namespace rematlas
