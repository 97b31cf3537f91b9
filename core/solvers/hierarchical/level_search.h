// Anneals the order and the options of one level's blocks.
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
    const std::vector<std::int32_t>* group = nullptr;  ///< by block: a number, the same for equal blocks;
                                                       ///< null if no blocks count as equal
};

/// Returns the best schedule that the search saw: the fastest within the budget, or else the schedule with
/// the least excess. `start` must be executable but need not fit. A move does one of the following: it
/// chooses another option for one block or for all equal blocks; it lets a block advance first and saves the
/// block later, with or without advances of the blocks that it reads from; or it removes or moves a visit.
/// Unless the deadline ends the search, the result depends only on the seed and the moves. Cost of a move:
/// O(tensors that all visits touch).
LevelSchedule search_level(const Level& level, LevelSchedule start, const LevelTask& task,
                           const Deadline& deadline);

}  // namespace rematlas::hierarchical
