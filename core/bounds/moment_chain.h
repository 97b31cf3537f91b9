// Moments for relaxations: a chain of required ops, each a descendant of the op before it. So the first runs
// of these ops have the same order in every valid schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Returns the bytes held during each op if every required op runs once, in the graph's order; 0 for other
/// ops.
std::vector<std::int64_t> memory_without_reruns(const FlatGraph& graph);

struct MomentChain {
    std::vector<int> ops;  ///< each op is a strict descendant of the op before it
    /// Index in `ops` of the op with the most memory without reruns; -1 if `ops` is empty.
    int fullest = -1;
};

/// Returns a chain of ops during which the step without reruns holds more than `budget` bytes. Of all such
/// chains, takes one with the largest sum of weights. The weight of an op is 1 + (bytes of its inputs,
/// outputs and workspace) / `budget`. Then shortens the chain: at most one op stays before the fullest op
/// (the op with the most memory). If `most` > 0, at most `most` ops stay: the fullest op, and others that are
/// spread evenly. The chain is empty if no op is over the budget. Cost: linear in the graph.
MomentChain moment_chain(const FlatGraph& graph, std::int64_t budget, int most = 0);

/// The windows of a chain. Moment k is the first run of the chain's k-th op, counted from 1. Window k holds
/// the runs after moment k, up to and including moment k + 1. Window 0 begins with the step, and the last
/// window ends with the step.
struct MomentWindows {
    std::vector<int> first;  ///< per op: the first window in which it can run
    std::vector<int> last;   ///< per required op: the last window in which its first run can be
};
MomentWindows moment_windows(const FlatGraph& graph, const MomentChain& chain);

}  // namespace rematlas
