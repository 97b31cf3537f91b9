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

/// Where nothing can be evicted the sequence goes over the budget, so the caller must look at its cost. Empty
/// when the deadline passed, or at four times as many runs as there are ops: it thrashes then. Cost:
/// O(tensors alive) an eviction.
std::optional<RunSequence> greedy_start(const FlatGraph& graph, std::int64_t budget, const GreedyRule& rule,
                                        const Deadline& deadline);

/// The best of six rules and of `fallback`. `found` is told of each; the search for more ends when
/// the deadline is past, or when one fits the budget and `share` of the time is spent.
Candidate best_start(const FlatGraph& graph, std::int64_t budget, Candidate fallback,
                     const Deadline& deadline, double share,
                     const std::function<void(const Candidate&)>& found);

}  // namespace rematlas::annealing
