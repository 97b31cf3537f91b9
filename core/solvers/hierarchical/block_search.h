// Finds options of a bottom block, which is a block without inner blocks. The options are the fastest
// schedules for many pairs of limits, one on the saved bytes and one on the peak.
#pragma once

#include <cstdint>

#include "core/solvers/hierarchical/block_option.h"
#include "core/solving/programme.h"

namespace rematlas::hierarchical {

/// The method that finds a block's schedule for a pair of limits. `checkmate` solves Checkmate's integer
/// program, but anneals blocks that are too large for it (`StagedModel::fits`). `dtr` evicts tensors online.
enum class BlockSolver : std::uint8_t { annealing, checkmate, dtr };

/// How many limits are tried, and how much work is done for each.
struct BlockSearchOptions {
    int saved_limits = 10;  ///< limits between zero and the bytes that are saved without reruns (HiRemate:
                            ///< nb_bdg_save)
    int peak_limits = 12;   ///< limits between the least peak and the peak without reruns (HiRemate:
                            ///< nb_bdg_peak)
    int moves_an_op = 60;   ///< moves of the annealing for each op and pair of limits
    int least_moves = 2000;
    BlockSolver solver = BlockSolver::annealing;
    ProgrammeLimits programme{.time = std::chrono::seconds(1)};  ///< limits for `checkmate`
};

/// Runs the solver for each pair of limits, unless an earlier result answers the pair. Each search starts
/// from the known option that exceeds the limits by the fewest bytes. The first known option runs each op
/// once. Equal seeds give equal options unless the deadline ends the search.
BlockOptions search_options(const Subproblem& block, const BlockSearchOptions& options, std::uint64_t seed,
                            const Deadline& deadline);

}  // namespace rematlas::hierarchical
