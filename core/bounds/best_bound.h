// The best lower bound on the time of every schedule within a budget that can be proven in some time.
//
//     const ProvenBound bound = best_bound(flat, budget, {.time = 5s, .known = solution.time.value});
//     if (proves_optimal(bound.time, solution.time.value)) ...  // over any order and any reruns
//     if (!bound.runs.empty()) ...                        // perhaps a better schedule: a start for a search
//
// It tries in turn: one moment at a time (one_moment.h: milliseconds, any size); the linear relaxation of a
// chain of moments (chain_moments.h: all moments up to 200 ops, 16 up to 2,500); the same with whole
// variables (whole_moments.h) where this build has HiGHS or GLPK. It ends where the bound meets the known
// schedule. With copies it solves two_sided_moments.h on one moment at a time, up to 2,500 ops, and then, up
// to 200 ops, on 16 moments together. Where ops may run on the host, it begins with no moment at all, which
// is fast at any size.
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
    bool whole = true;  ///< false: only bounds that are exact in whole numbers, without a library
    /// The links, for schedules that may also copy tensors to the host and back. The bound is then of class
    /// `with_copies`.
    std::optional<HostLinks> host = {};
    int moments = 64;  ///< with copies: at most so many moments are tried one at a time
    /// The ops that may also run on the host; the graph is then `StepWithoutHostOps::device`, and the bound
    /// is of class `with_host_ops`.
    std::span<const HostOp> host_ops = {};
};

struct ProvenBound {
    std::int64_t time = 0;  ///< nanoseconds, no schedule takes less; the largest number when none fits
    double overhead = 0;    ///< the same over the step without recomputation; infinite when none fits
    enum class By : std::uint8_t { required_runs, one_moment, chain_moments, whole_moments };
    By by = By::required_runs;               ///< the weakest relaxation that gave it
    double seconds = 0;                      ///< wall clock of the call
    std::optional<std::int64_t> nodes = {};  ///< of the branch and bound, where there was one
    RunSequence runs;  ///< read back from the whole solution: executable, perhaps over the budget; or empty
};

/// The function never fails: with no time left it returns the best bound so far. The class of the bound is
/// `any_order`, with links to the host `with_copies`, and with ops on the host `with_host_ops`. The bound is
/// rigorous to the last bit, except by `whole_moments` (see whole_moments.h). One thread works at a time.
ProvenBound best_bound(const FlatGraph& graph, Bytes budget, const BestBoundLimits& limits = {});

}  // namespace rematlas
