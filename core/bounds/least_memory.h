// A lower bound on the peak of every schedule without offloading, for every order and any number of reruns.
//
//     const PeakBound bound = least_memory(flat);
//     if (bound.bytes > budget) ...     // nothing fits; bound.op and bound.tensors say where and by what
//
// Let S be any set of required ops that is not empty. Let o be the op of S whose run is the last run of any
// op of S. The tensors that are alive during that run must be enough to make the results without another run
// of an op of S. The term of o is the bytes of the residents, plus the workspace, inputs and outputs of o,
// plus the minimum cut (rebuild_cut.h): the fewest further bytes from which the results can be made if no op
// of S runs again. So the peak is at least the least term over all o of S.
//
// Three facts make the terms larger. Among the schedules with the least peak, take one with the fewest runs.
// In that schedule the outputs of each run are read later or are results, unless no required op reads the
// outputs of the op.
// - So o makes a result, or a reader of o runs after it. The same holds for this reader, and so on, up to an
//   op that makes a result or whose outputs no op reads. All of these ops run after the last run of S, so
//   none of them is in S, and the cut must provide their inputs as well. The postdominators of the reader
//   (the ops on every path from the reader to the end) run after S, too. The term is the least value over all
//   readers of o.
// - An op that may run only once is not the last of S while S holds a descendant of the op, because the
//   descendant runs later.
// - If o runs in place, the inputs that it overwrites are gone after the run.
//
// If an op is removed from S, the terms of the other ops do not rise, and more ops can be the last. So the
// search starts with all required ops and removes the ops whose term is too small, in any order. It finds
// every bound that some set S proves.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct LeastMemoryLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(1);  ///< wall clock
    std::stop_token stop = {};                                ///< a stop request is seen within 50 ms
    /// The search first tries to prove that more bytes than these are needed.
    std::optional<Bytes> budget = {};
    bool only_budget = false;  ///< ends the search after the trial of `budget`
};

/// Returns the best bound that sets S (see above) prove, to within one byte or a relative 1e-4, whichever is
/// more, and at least `least_peak`. When the time is over, it returns the bound proven so far. In the result,
/// `op` is the op of S that runs last, and the bytes are needed during its run. `tensors` are the residents,
/// the inputs and outputs of `op`, and the tensors of the cut. Schedules that copy tensors to the host may
/// need less.
PeakBound least_memory(const FlatGraph& graph, const LeastMemoryLimits& limits = {});

}  // namespace rematlas
