// A first schedule by offline greedy eviction: ops in the graph's order, the future known.
//
// When bytes are short, the tensor with the least cost / (bytes * distance to its next use ^ alpha) is
// evicted; an evicted input is recomputed when it is needed, with whatever that needs. The cost is the time
// of the producer, or of the producer and its evicted ancestors (MSPS: Peng et al., Capuchin, ASPLOS 2020).
// The distance is known because the order of first runs is.
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
    bool with_ancestors = false;  ///< the cost counts the evicted ancestors, up to 64
};

/// The sequence goes over the budget where nothing can be evicted, so the caller must check its cost. Empty
/// if the deadline passed, or if the sequence thrashes: it has more than four times as many runs as the
/// graph has ops. Cost of an eviction: O(tensors alive).
std::optional<RunSequence> greedy_start(const FlatGraph& graph, std::int64_t budget, const GreedyRule& rule,
                                        const Deadline& deadline);

/// The best result of six rules and `fallback`. `found` is called with each result. The search ends when the
/// deadline is past, or when a result fits the budget and `share` of the time is spent.
Candidate best_start(const FlatGraph& graph, std::int64_t budget, Candidate fallback,
                     const Deadline& deadline, double share,
                     const std::function<void(const Candidate&)>& found);

}  // namespace rematlas::annealing
