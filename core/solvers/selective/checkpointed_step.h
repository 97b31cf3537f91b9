// A training step of which some regions are checkpointed, as the steps that PyTorch takes.
//
//     const CheckpointedStep step = play(graph, flat, regions, {.regions = {0, 2}, .saved = saved});
//     simulate(graph, step.steps)->peak == Bytes(step.peak);
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/solvers/selective/regions.h"

namespace rematlas {

struct SaveSet {
    std::vector<int> regions;         ///< checkpointed, ascending; none holds another one
    std::vector<std::uint8_t> saved;  ///< by op; means nothing for those of no checkpointed region
};

/// A run of an op, or the place in a rerun where a saved one is left out.
struct Moment {
    std::int32_t op = -1;
    bool again = false, left_out = false;
};

struct CheckpointedStep {
    std::vector<Moment> moments;
    std::vector<std::int64_t>
        during;  ///< by moment: bytes while it runs; while a left out one is passed, those alive
    std::int64_t time = 0, peak = 0;
    std::vector<Step> steps;
    /// By tensor, moments: when it dies for the first time, when it is made again (-1: never) and the last
    /// at which backward reads what was made again (-1: never).
    std::vector<std::int32_t> dies, made_again, read_again;
};

/// Plays the step as PyTorch runs it. A tensor is there until its last reader, as in a Python function that
/// holds nothing for longer. Backward ops in a row that belong to one forward op are one node of autograd:
/// the tensors that they read are there until the last of them. Cost: linear.
/// node of autograd. Cost: linear.
CheckpointedStep play(const Graph& graph, const FlatGraph& flat, const std::vector<Region>& regions,
                      const SaveSet& save_set);

}  // namespace rematlas
