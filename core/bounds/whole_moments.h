// The chain-moment relaxation with whole variables, solved by a library for mixed-integer programmes. Its
// value is often the optimum itself, and its solution a schedule with that time.
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
    int moments = 0;                                                ///< moments of the chain used; 0: all
};

struct WholeMoments {
    std::int64_t bound = 0;  ///< no schedule takes less time; nanoseconds, at most `known`
    std::int64_t nodes = 0;  ///< of the branch and bound
    RunSequence runs;        ///< of the best solution, within the budget if any was; may be empty
};

/// `relaxed` is the value of the linear relaxation with the same moments, with or without intervals. It
/// shows that some columns can be only 0 or only 1 in a schedule as good as `known`; these columns are fixed
/// first. The bound is proven to the tolerances of the library (1e-9 in a row and of a whole number), less a
/// margin of 1e-9 of the step without reruns. Where the library ends with no solution, the bound is that of
/// `relaxed`. All moments are for graphs of up to about 200 ops. Errors: this build lacks the library.
Result<WholeMoments> solve_whole_moments(const FlatGraph& graph, Bytes budget, const DualValue& relaxed,
                                         MilpLibrary library, const WholeMomentsLimits& limits);

/// Rounds `time` up to a multiple of the greatest common divisor of the ops' times, since each sum of these
/// times is such a multiple.
std::int64_t next_possible_time(const FlatGraph& graph, std::int64_t time);

}  // namespace rematlas
