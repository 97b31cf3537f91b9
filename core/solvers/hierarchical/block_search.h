// Options of a bottom block: the fastest schedules for many limits on what is saved and on the peak.
#pragma once

#include <cstdint>

#include "core/solvers/hierarchical/block_option.h"
#include "core/solving/programme.h"

namespace rematlas::hierarchical {

/// What finds the schedule of a block for a pair of limits: annealing; Checkmate's programme, for blocks that
/// it takes (StagedModel::fits); online eviction, which has no say in the peak of what is saved.
enum class BlockSolver : std::uint8_t { annealing, checkmate, dtr };

/// How many limits are tried, and how hard.
struct BlockSearchOptions {
    int saved_limits = 10;  ///< from nothing to all (HiRemate: nb_bdg_save)
    int peak_limits = 12;   ///< from the least to that of keeping all (HiRemate: nb_bdg_peak)
    int moves_an_op = 60;   ///< of annealing, for each pair of limits
    int least_moves = 2000;
    BlockSolver solver = BlockSolver::annealing;
    ProgrammeLimits programme{.time = std::chrono::seconds(1)};  ///< for `checkmate`
};

/// By the solver at each pair of limits, from the option nearest to it. There is always the option that runs
/// each op once. Equal seeds give equal options unless the deadline ends it.
BlockOptions search_options(const Subproblem& block, const BlockSearchOptions& options, std::uint64_t seed,
                            const Deadline& deadline);

}  // namespace rematlas::hierarchical
