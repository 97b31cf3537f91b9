// Makes a first schedule by offline greedy eviction: ops run in the graph's order, and all future uses are
// known.
//
// If memory is short, the tensor with the least cost / (bytes * distance to its next use ^ alpha) is evicted.
// An evicted input is recomputed when it is needed, together with its own missing inputs. The cost is the
// time of the producer, or of the producer and its evicted ancestors (MSPS: Peng et al., Capuchin, ASPLOS
// 2020). The distance is known because the order of first runs is known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/candidate.h"
#include "core/solving/limits.h"

namespace rematlas::annealing {

struct GreedyRule {
    enum class Distance : std::uint8_t { ignored, square_root, linear };  ///< alpha 0, 0.5, 1
    Distance distance = Distance::linear;
    bool with_ancestors = false;  ///< whether the cost includes evicted ancestors, at most 64 of them
};

/// Makes a schedule by one rule. The schedule exceeds the budget if nothing more can be evicted at some run,
/// so the caller must check its cost. Returns nothing if the deadline passed, or if the schedule thrashes (it
/// has more than four times as many runs as the graph has ops). Cost of an eviction: O(tensors alive).
std::optional<RunSequence> greedy_start(const FlatGraph& graph, std::int64_t budget, const GreedyRule& rule,
                                        const Deadline& deadline);

/// Returns the best of `fallback` and the results of six rules. `found` is called with each result. The
/// search ends at the deadline. It ends earlier if the best result so far fits the budget and the part
/// `share` of the time limit has passed.
Candidate best_start(const FlatGraph& graph, std::int64_t budget, Candidate fallback,
                     const Deadline& deadline, double share,
                     const std::function<void(const Candidate&)>& found);

}  // namespace rematlas::annealing
