// The relaxation of chain_moments.h with integer variables, solved by a library for mixed-integer programs.
// Often the optimal value is the least possible time, and the solution is a schedule that takes this time.
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
    std::stop_token stop{};                                         ///< a stop request is seen within 20 ms
    std::int64_t known = std::numeric_limits<std::int64_t>::max();  ///< time of the best known schedule
                                                                    ///< within the budget
    int moments = 0;                                                ///< how many moments of the chain are
                                                                    ///< used; 0: all moments
};

struct WholeMoments {
    std::int64_t bound = 0;  ///< nanoseconds that every schedule takes at least; at most `known`
    std::int64_t nodes = 0;  ///< number of nodes of the branch and bound
    /// The runs of the best solution: the fastest one within the budget, or else the one with the least peak.
    /// Empty if no solution was found.
    RunSequence runs;
};

/// Solves the integer program. `relaxed` must be the value of the linear relaxation with the same moments,
/// with or without intervals. Its reduced costs show that some columns can be only 0 or only 1 in a schedule
/// that takes at most `known`. These columns are fixed first. The bound is proven to the tolerances of the
/// library (1e-9 for rows and for integrality), minus a margin: 1e-9 times the time of the step without
/// reruns. It is at least the bound of `relaxed`, but at most `known`. Using all moments is only practical
/// for graphs of up to about 200 ops. Fails if this build lacks the library.
Result<WholeMoments> solve_whole_moments(const FlatGraph& graph, Bytes budget, const DualValue& relaxed,
                                         MilpLibrary library, const WholeMomentsLimits& limits);

/// Rounds `time` up to a multiple of the greatest common divisor of the ops' times, because each sum of these
/// times is such a multiple.
std::int64_t next_possible_time(const FlatGraph& graph, std::int64_t time);

}  // namespace rematlas
