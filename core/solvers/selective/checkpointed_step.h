// A training step with checkpointed regions, as a schedule that does what PyTorch does.
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
    std::vector<int> regions;         ///< checkpointed regions in ascending order; none contains another one
    std::vector<std::uint8_t> saved;  ///< by op: whether its outputs are saved; only for ops in `regions`
};

/// A run of an op, or the place of an op that the rerun of its region leaves out: a saved op, or an op that
/// only counts (regions.h).
struct Moment {
    std::int32_t op = -1;
    bool again = false, left_out = false;
};

struct CheckpointedStep {
    std::vector<Moment> moments;
    std::vector<std::int64_t>
        during;  ///< by moment: bytes while the op runs, or the bytes alive if the op is left out
    std::int64_t time = 0, peak = 0;
    std::vector<Step> steps;
    /// By tensor: the moment at which the tensor first dies, the moment at which a rerun makes it again, and
    /// the last moment at which backward reads the result of this rerun. The last two are -1 if there is no
    /// such moment.
    std::vector<std::int32_t> dies, made_again, read_again;
};

/// Returns the step as PyTorch runs it. A tensor lives until its last reader, as in a Python function that
/// keeps no references. Consecutive backward ops that belong to one forward op form one node of autograd: the
/// tensors that they read live until the last op of the node. Cost: linear.
CheckpointedStep play(const Graph& graph, const FlatGraph& flat, const std::vector<Region>& regions,
                      const SaveSet& save_set);

}  // namespace rematlas
