// The optimum of small graphs by exhaustive search: what every solver and every bound is measured against.
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

/// Tensors that are no longer there once an op has run for the first time: what holds of schedules that must make
/// them again.
struct Forgotten {
    std::int32_t op = -1;
    std::vector<std::int32_t> tensors = {};
};

/// The least time of any valid schedule (any order, any number of reruns, but one run on each side of a
/// boundary where there is one, no offloading) with a peak of at
/// most `budget` bytes; nothing when there is none. Dijkstra over (tensors alive, ops done), shares no code
/// with the solvers. Cost: exponential; graphs of up to about 10 ops and 14 tensors take milliseconds. At
/// most 32 tensors and 32 ops.
std::optional<Optimum> brute_force(const FlatGraph& graph, std::int64_t budget,
                                   const Forgotten& forgotten = {});

/// The least peak of any valid schedule. Cost: one brute force a distinct peak tried (bisection).
std::int64_t brute_force_least_peak(const FlatGraph& graph);

}  // namespace rematlas
