// The sequence without reruns: every required op once, in the graph's order.
#pragma once

#include <optional>

#include "core/schedule/run_sequence.h"
#include "core/solvers/solver.h"

namespace rematlas {

/// No schedule takes less time than this one, because every schedule runs these ops. Executable in every
/// valid graph.
RunSequence required_once(const FlatGraph& graph);

/// The solution of that sequence, proven optimal, when it fits the budget. Cost: linear.
std::optional<Solution> optimal_without_reruns(const FlatGraph& graph, Bytes budget);

}  // namespace rematlas
