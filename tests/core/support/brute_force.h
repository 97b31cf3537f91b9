// Finds the optimum of small graphs by exhaustive search, for tests of solvers and bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct Optimum {
    std::int64_t time = 0;
    std::vector<Step> steps;  ///< run, run_inplace and free steps that take `time` within the budget
};

/// Tensors that disappear when `op` runs for the first time. With this, tests find the optimum of schedules
/// that must recompute these tensors.
struct Forgotten {
    std::int32_t op = -1;
    std::vector<std::int32_t> tensors = {};
};

/// Returns the least time of all valid schedules with a peak of at most `budget` bytes, or nullopt if there
/// is none. The schedules may have any order and any number of reruns, but at most one run of an op on each
/// side of a boundary, and no offloading. The search is Dijkstra's over (tensors alive, ops done), and shares
/// no code with the solvers. Cost: exponential; graphs of up to about 10 ops and 14 tensors take
/// milliseconds. At most 32 tensors and 32 ops.
std::optional<Optimum> brute_force(const FlatGraph& graph, std::int64_t budget,
                                   const Forgotten& forgotten = {});

/// Returns the least peak of all valid schedules. Cost: one brute force for each peak that the bisection
/// tries.
std::int64_t brute_force_least_peak(const FlatGraph& graph);

}  // namespace rematlas
