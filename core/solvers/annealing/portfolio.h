// Runs annealers with different seeds in parallel threads. Each annealer runs cycles of growing length.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/graph/flat_graph.h"
#include "core/solvers/annealing/options.h"
#include "core/solvers/annealing/repeats.h"
#include "core/solving/candidate.h"
#include "core/solving/limits.h"

namespace rematlas::annealing {

struct PortfolioResult {
    Candidate best;
    std::int64_t smallest_peak = 0;  ///< least peak that any annealer saw
    std::uint64_t moves = 0;         ///< total number of moves of all annealers
};

struct PortfolioTask {
    std::int64_t budget = 0;
    std::uint64_t seed = 1;
    int threads = 1;
    /// A lower bound on the time of schedules within the budget. The search ends when a schedule reaches it.
    std::int64_t least_time = 0;
    /// More sequences to start from, which need not fit the budget. A start of another kind can lead to
    /// better schedules than the best start does. Each thread runs some cycles from all starts. Then it drops
    /// the worse half repeatedly, until one start is left and gets the remaining time.
    std::span<const Candidate> others = {};
    /// The number of short cycles that each thread runs first, from the step without reruns and with
    /// different seeds. It is random which kind of schedule such a cycle finds, so the best two schedules
    /// become further starts.
    int trials = 0;
    const Repeats* repeats = nullptr;  ///< for moves in all equal blocks at once
    /// Called on the caller's thread with the best schedule so far, when this thread finds a better one and a
    /// few times a second. May be empty.
    std::function<void(const Candidate& best)> report = {};
};

/// Improves `start`, which need not fit the budget, until the deadline, or for `options.max_moves` moves of
/// each thread. Without `max_moves`, a thread whose best schedule fits also ends after several times as many
/// moves as it took to find that schedule. If the number of moves ends the search, the result depends only on
/// the start, the options, the seed and the number of threads.
PortfolioResult anneal_portfolio(const FlatGraph& graph, const Candidate& start, const PortfolioTask& task,
                                 const AnnealingOptions& options, const Deadline& deadline);

}  // namespace rematlas::annealing
