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
    const std::vector<std::int32_t>* group = nullptr;  ///< by block: equal blocks have equal numbers; or null
};

/// The best schedule seen, from `start`, which must be executable and need not fit: least time within the
/// budget, else least bytes above it. Moves: another option (of one block or of all its equals), a block
/// saved later after having advanced first, with or without the blocks that feed it; a visit removed or
/// moved. Depends on the seed and the moves alone, unless the deadline ends it. Cost: O(visits' tensors) a
/// move.
LevelSchedule search_level(const Level& level, LevelSchedule start, const LevelTask& task,
                           const Deadline& deadline);

}  // namespace rematlas::hierarchical
