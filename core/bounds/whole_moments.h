// The chain-moment relaxation with whole variables, by a library for mixed-integer programmes: often the
// optimum itself, with a schedule that has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <stop_token>

#include "core/base/ids.h"
#include "core/bounds/dual_value.h"
#include "core/graph/flat_graph.h"
#include "core/milp/milp.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

struct WholeMomentsLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(5);        ///< wall clock
    std::stop_token stop{};                                         ///< seen within 20 ms
    std::int64_t known = std::numeric_limits<std::int64_t>::max();  ///< time of a schedule within the budget
    int moments = 0;                                                ///< at most so many of the chain; 0: all
};

struct WholeMoments {
    std::int64_t bound = 0;  ///< no schedule takes less time; nanoseconds, at most `known`
    std::int64_t nodes = 0;  ///< of the branch and bound
    RunSequence runs;        ///< read back from the best solution; within the budget if any was; may be empty
};

/// `relaxed` is the value of the linear relaxation with these moments, with or without intervals: columns
/// that by it can be only 0 or only 1 in a schedule as good as `known` are fixed first. The bound is proven
/// to the tolerances of the library (1e-9 in a row and of a whole number), less a margin of 1e-9 of the step
/// without reruns; where the library ends with no solution the bound is that of `relaxed`. All moments are
/// for graphs of up to about 200 ops. Errors: this build lacks the library.
Result<WholeMoments> solve_whole_moments(const FlatGraph& graph, Bytes budget, const DualValue& relaxed,
                                         MilpLibrary library, const WholeMomentsLimits& limits);

/// The smallest time of at least `time` that is a sum of times of ops: times are multiples of their greatest
/// common divisor.
std::int64_t next_possible_time(const FlatGraph& graph, std::int64_t time);

}  // namespace rematlas
