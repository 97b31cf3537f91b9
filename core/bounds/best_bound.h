// The best lower bound on the time of every schedule within a budget that some time allows.
//
//     const ProvenBound bound = best_bound(flat, budget, {.time = 5s, .known = solution.time.value});
//     if (proves_optimal(bound.time, solution.time.value)) ...  // over any order and any reruns
//     if (!bound.runs.empty()) ...                        // perhaps a better schedule: a start for a search
//
// In turn: one moment at a time (one_moment.h: milliseconds, any size); the linear relaxation of a chain of
// moments (chain_moments.h: all of them up to 200 ops, 16 up to 2,500); the same with whole variables
// (whole_moments.h) where this build has HiGHS or GLPK. It ends where the bound meets the known schedule.
// With copies: two_sided_moments.h on one moment at a time, up to 2,500 ops, and up to 200 ops on 16 together; where ops
// may run on the host first on none, which any size has time for.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>

#include "core/base/ids.h"
#include "core/bounds/chain_moments.h"
#include "core/bounds/host_links.h"
#include "core/bounds/host_ops.h"
#include "core/bounds/one_moment.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

struct BestBoundLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(5);        ///< wall clock
    std::stop_token stop{};                                         ///< seen within 50 ms
    std::int64_t known = std::numeric_limits<std::int64_t>::max();  ///< time of a schedule within the budget
    bool whole = true;  ///< false: only what is exact in whole numbers, without a library
    /// For schedules that may also copy tensors to the host and back: a bound of the class `with_copies`.
    std::optional<HostLinks> host = {};
    int moments = 64;  ///< with copies: at most so many are tried one at a time
    /// For schedules in which ops may also run on the host: these, where the graph is
    /// `StepWithoutHostOps::device`. A bound of the class `with_host_ops`.
    std::span<const HostOp> host_ops = {};
};

struct ProvenBound {
    std::int64_t time =
        0;                ///< nanoseconds; no schedule takes less; the greatest number: none fits the budget
    double overhead = 0;  ///< the same over the step without recomputation; infinite when none fits
    enum class By : std::uint8_t { required_runs, one_moment, chain_moments, whole_moments };
    By by = By::required_runs;               ///< the weakest relaxation that gave it
    double seconds = 0;                      ///< that it took
    std::optional<std::int64_t> nodes = {};  ///< of the branch and bound, where there was one
    RunSequence runs;  ///< read back from the whole solution: executable, perhaps over the budget; or empty
};

/// Never fails: with no time left it returns what is known. Class: `any_order`, with links to the
/// host `with_copies`, with ops there `with_host_ops`. Rigorous to the last bit but for `whole_moments`, see there. One thread at a time.
ProvenBound best_bound(const FlatGraph& graph, Bytes budget, const BestBoundLimits& limits = {});

}  // namespace rematlas
