// Proves, within a time limit, a lower bound on the time that every schedule within a budget takes.
//
//     const ProvenBound bound = best_bound(flat, budget, {.time = 5s, .known = solution.time.value});
//     if (proves_optimal(bound.time, solution.time.value)) ...  // over any order and any reruns
//     if (!bound.runs.empty()) ...                        // perhaps a better schedule: a start for a search
//
// A moment is the first run of an op that must run. Without copies, the function tries these relaxations, one
// after another:
// - single moments (one_moment.h), which take milliseconds, for graphs of any size;
// - the linear relaxation of a chain of moments (chain_moments.h), with all moments for graphs of up to 200
//   ops, and with 16 moments for graphs of up to 2,500 ops;
// - the same relaxation with integer variables (whole_moments.h), if this build has HiGHS or GLPK.
// With copies, it solves the relaxation of two_sided_moments.h: for single moments if the graph has up to
// 2,500 ops, and then for 16 moments together if it has up to 200 ops. If ops may run on the host, it first
// solves this relaxation without moments, which is fast at any size. The function ends when the bound reaches
// the time of the known schedule.
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
    std::stop_token stop{};                                         ///< a stop request is seen within 50 ms
    std::int64_t known = std::numeric_limits<std::int64_t>::max();  ///< time of the best known schedule
                                                                    ///< within the budget
    /// If false, computes only bounds that are exact in integer arithmetic and need no library.
    bool whole = true;
    /// The links, for schedules that may also copy tensors to the host and back. The class of the bound is
    /// then `with_copies`.
    std::optional<HostLinks> host = {};
    int moments = 64;  ///< with copies: the most moments that are tried one at a time
    /// The ops that may also run on the host. With such ops the graph must be `StepWithoutHostOps::device`,
    /// and the class of the bound is `with_host_ops`.
    std::span<const HostOp> host_ops = {};
};

struct ProvenBound {
    /// No schedule takes fewer nanoseconds. The largest number if no schedule fits the budget.
    std::int64_t time = 0;
    /// `time` divided by the time of the step without recomputation; infinite if no schedule fits.
    double overhead = 0;
    enum class By : std::uint8_t { required_runs, one_moment, chain_moments, whole_moments };
    By by = By::required_runs;               ///< the relaxation that proved `time`; of several, the weakest
    double seconds = 0;                      ///< wall clock of the call
    std::optional<std::int64_t> nodes = {};  ///< nodes of the branch and bound, if one ran
    /// The schedule of the best integer solution: executable, but perhaps over the budget. Empty if no
    /// integer solution was found.
    RunSequence runs;
};

/// Returns the best bound that it proves within the time; never fails. The class of the bound is `any_order`.
/// With links to the host it is `with_copies`, and with ops on the host `with_host_ops`. The bound is
/// rigorous to the last bit, except a bound by `whole_moments` (see whole_moments.h). Only one thread works
/// at a time.
ProvenBound best_bound(const FlatGraph& graph, Bytes budget, const BestBoundLimits& limits = {});

}  // namespace rematlas
