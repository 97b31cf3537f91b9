// The least memory of any schedule without offloading, from below: for every order and any number of reruns.
//
//     const PeakBound bound = least_memory(flat);
//     if (bound.bytes > budget) ...     // nothing fits, and bound.tensors says what is held where
//
// Let S be any set of required ops that is not empty, and o the one that runs last of all the runs of S. What
// is alive during that run must be enough to make the results without S. So the peak is at least the least,
// over all o of S, of the residents, the workspace, inputs and outputs of o and the minimum cut
// (rebuild_cut.h) between the results and what is held beside those, where no op of S runs again.
//
// Three things make the terms larger. Among the schedules with the least peak take one with the fewest runs:
// each run of it is read later or makes a result, or is of an op whose outputs no required op reads.
// - So o makes a result, or another op reads it after that run, and something reads that, and so on up to
//   an op that makes a result or is not read. All of these run after S did, so that none is in S, and the
//   cut must provide their inputs as well. The least is taken over the readers of o; with a reader come
//   those ops that every way from it to the end goes through (its postdominators).
// - An op that may run only once is not the last of S while S holds an op that descends from it: that one
//   runs later.
// - When o runs in place, what it writes over is not there any more after the run.
//
// With fewer ops in S the terms only fall and more ops can be the last. So what is proven by some S at all is
// found by leaving out, from all required ops on, whatever has too small a term, in any order.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct LeastMemoryLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(1);  ///< wall clock
    std::stop_token stop = {};                                ///< seen within 50 ms
    std::optional<Bytes> budget = {};                         ///< tried first: whether more is needed
    bool only_budget = false;                                 ///< then it ends
};

/// At least `least_peak`, and exact to the byte or to 1e-5 of it for what such sets prove, whichever is more.
/// With no time left it returns what is proven so far. `op` is where it is needed: the one that runs last of
/// its set; `tensors` are the residents, its inputs and outputs, and those of the cut. Schedules that copy
/// tensors to the host can do with less.
PeakBound least_memory(const FlatGraph& graph, const LeastMemoryLimits& limits = {});

}  // namespace rematlas
