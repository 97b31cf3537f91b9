// Finds which ops of equal blocks, for example of the layers of a transformer, correspond to each other.
//
//     const Repeats repeats = repeats_of(problem.graph);
//     for (const int twin : repeats.alike[repeats.group[op]]) ...
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas::annealing {

struct Repeats {
    std::vector<std::int32_t> group;  ///< per op: the group of ops that correspond to it; -1 if there is none
    /// Per group: its ops, one of each block, in the graph's order.
    std::vector<std::vector<std::int32_t>> alike;
};

/// Matches equal blocks op by op. Inside a block that has an equal, no inner blocks are matched (blocks: see
/// `decompose`). Cost: near linear.
Repeats repeats_of(const Graph& graph);

}  // namespace rematlas::annealing
