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
    const std::vector<std::int32_t>* group = nullptr;  ///< by block: an id, the same for equal blocks; null
                                                       ///< if no blocks count as equal
};

/// Returns the best schedule that the search saw: the fastest within the budget, or else the schedule with
/// the least `LevelCost::excess`. `start` must be executable but need not fit. A move changes the option of
/// one block or of all equal blocks; or saves a block later or earlier; or adds or removes an advance (a run
/// forward that saves nothing); or moves a visit (any run of a block). Unless the deadline ends the search,
/// the result depends only on the arguments. Cost of a move: O(tensors that all visits touch).
LevelSchedule search_level(const Level& level, LevelSchedule start, const LevelTask& task,
                           const Deadline& deadline);

}  // namespace rematlas::hierarchical
