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
    std::vector<std::int32_t> group;  ///< per op: the group of ops that correspond to it; -1: no group
    /// Per group: its ops, one of each block, in the graph's order.
    std::vector<std::vector<std::int32_t>> alike;
};

/// Matches equal blocks op by op. If a block has an equal block, the blocks inside it are not matched
/// (blocks: see `decompose`). Cost: near linear.
Repeats repeats_of(const Graph& graph);

}  // namespace rematlas::annealing
