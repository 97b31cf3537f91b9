// Moments for relaxations: a chain of required ops, each a descendant of the one before. So their first runs
// have this order in every valid schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Returns the bytes held during each op if every required op runs once, in the graph's order; 0 for other
/// ops.
std::vector<std::int64_t> memory_without_reruns(const FlatGraph& graph);

struct MomentChain {
    std::vector<int> ops;  ///< each a strict descendant of the op before
    /// Index in `ops` of the op with the most memory without reruns; -1 if `ops` is empty.
    int fullest = -1;
};

/// Returns a chain of ops during which the step without reruns is over `budget`. The chain prefers many ops
/// and large ops, and it begins with the op right before the fullest. If `most` > 0, the chain has at most
/// `most` ops, spread evenly, including the fullest. The chain is empty if no op is over the budget. Cost:
/// linear in the graph.
MomentChain moment_chain(const FlatGraph& graph, std::int64_t budget, int most = 0);

/// The windows of a chain. Window k holds the runs after the first run of moment k (counted from 1) up to and
/// including the first run of moment k + 1. Window 0 starts with the step; the last window ends with it.
struct MomentWindows {
    std::vector<int> first;  ///< per op: the first window in which it can run
    std::vector<int> last;   ///< per required op: the last window in which its first run can be
};
MomentWindows moment_windows(const FlatGraph& graph, const MomentChain& chain);

}  // namespace rematlas
