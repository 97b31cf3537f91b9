// Finds the optimum over Checkmate's class of schedules (core/solvers/staged/staged_model.h) by exhaustive
// search.
#pragma once

#include <cstdint>
#include <limits>

#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

constexpr std::int64_t kNoStagedSchedule = std::numeric_limits<std::int64_t>::max();

/// `staged_optimum` returns the least time of a schedule of the class within `budget` bytes.
/// `staged_least_peak` returns the least peak of a schedule that takes at most `most_time`. Both return
/// kNoStagedSchedule if there is none. Cost: 2^(n (n - 1) / 2) sequences for n required ops; up to 6 take at
/// most 100 ms.
std::int64_t staged_optimum(const FlatGraph& graph, std::int64_t budget);
std::int64_t staged_least_peak(const FlatGraph& graph, std::int64_t most_time);

/// Returns a random graph. Most of these graphs are small enough for the functions above.
Graph graph_to_enumerate(std::uint64_t seed);

}  // namespace rematlas
