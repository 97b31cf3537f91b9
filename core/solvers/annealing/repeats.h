// Which ops of equal blocks correspond to each other: the layers of a transformer, the units of a stage.
//
//     const Repeats repeats = repeats_of(problem.graph);
//     for (const int twin : repeats.alike[repeats.group[op]]) ...
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas::annealing {

struct Repeats {
    std::vector<std::int32_t> group;               ///< per op; -1: it is in no block that has an equal
    std::vector<std::vector<std::int32_t>> alike;  ///< per group: its ops, one a block, in the graph's order
};

/// Matches the outermost blocks that have equals (see `decompose`) op by op. Cost: near linear.
Repeats repeats_of(const Graph& graph);

}  // namespace rematlas::annealing
