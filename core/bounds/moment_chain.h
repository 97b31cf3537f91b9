// Moments for relaxations: required ops of which each descends from the one before, so that their first runs
// come in this order in every valid schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Bytes held during each op when every required op runs once, in the graph's order; 0 for other ops.
std::vector<std::int64_t> memory_without_reruns(const FlatGraph& graph);

struct MomentChain {
    std::vector<int> ops;  ///< each a strict descendant of the one before
    int fullest = -1;      ///< index in `ops` of the one with the most memory without reruns; -1 when empty
};

/// A chain of ops during which the step without reruns is over `budget`. The chain prefers many ops and
/// large ops, and it begins with the op before the fullest. With `most` > 0 it has at most `most` of these
/// ops, spread evenly, the fullest among them. It is empty when no op is over the budget. Cost: linear in
/// the graph.
MomentChain moment_chain(const FlatGraph& graph, std::int64_t budget, int most = 0);

/// Windows of a chain: window k holds the runs after the first run of moment k (counted from 1) up to the
/// first run of moment k + 1, that one included; window 0 starts with the step, the last one ends with it.
struct MomentWindows {
    std::vector<int> first;  ///< per op: no run of it is in an earlier window
    std::vector<int> last;   ///< per required op: its first run is not in a later window
};
MomentWindows moment_windows(const FlatGraph& graph, const MomentChain& chain);

}  // namespace rematlas
