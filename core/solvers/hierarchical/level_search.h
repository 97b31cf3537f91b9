// Annealing of the order and the options of one level's blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/solvers/hierarchical/level.h"
#include "core/solving/limits.h"

namespace rematlas::hierarchical {

struct LevelTask {
    std::int64_t budget = 0;  ///< bytes, as `Level::cost_of` counts them
    std::uint64_t seed = 1;
    std::uint64_t moves = 20'000;
    const std::vector<std::int32_t>* group = nullptr;  ///< by block: equal blocks have equal numbers; may be
                                                       ///< null
};

/// The best schedule that the search saw: the least time within the budget, else the least bytes above the
/// budget. `start` must be executable and need not fit. A move chooses another option for one block or for
/// all equal blocks, lets a block advance first and saves it later (with or without the blocks that feed
/// it), or removes or moves a visit. The result depends on the seed and the moves alone unless the deadline
/// ends the search. Cost of a move: O(tensors that all visits touch).
LevelSchedule search_level(const Level& level, LevelSchedule start, const LevelTask& task,
                           const Deadline& deadline);

}  // namespace rematlas::hierarchical
