// Finds which ops of equal blocks correspond to each other, for example in the layers of a transformer.
//
//     const Repeats repeats = repeats_of(problem.graph);
//     for (const int twin : repeats.alike[repeats.group[op]]) ...
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas::annealing {

struct Repeats {
    std::vector<std::int32_t> group;  ///< per op: its group; -1 if its block has no equal
    /// Per group: its ops, one in each block, in the graph's order.
    std::vector<std::vector<std::int32_t>> alike;
};

/// Matches the outermost blocks that have equals (see `decompose`) op by op. Cost: near linear.
Repeats repeats_of(const Graph& graph);

}  // namespace rematlas::annealing
