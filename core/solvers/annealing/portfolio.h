// Annealers with different seeds side by side, one a thread, each going through cycles of growing length.
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
    std::int64_t smallest_peak = 0;  ///< least that any annealer saw
    std::uint64_t moves = 0;         ///< of all annealers together
};

struct PortfolioTask {
    std::int64_t budget = 0;
    std::uint64_t seed = 1;
    int threads = 1;
    /// A time that nothing within the budget can be below: the search ends when it is reached.
    std::int64_t least_time = 0;
    /// More sequences to start from, which need not fit the budget: one of another kind may lead to better
    /// schedules than the best does. All go through some cycles, the worse half is dropped again and again,
    /// and the last one has all the time that is left.
    std::span<const Candidate> others = {};
    /// The number of short cycles that go before that. They start from the step without reruns, each with
    /// its own seed. Chance decides which kind of schedule a cycle finds, so the best two take part as well.
    int trials = 0;
    const Repeats* repeats = nullptr;  ///< for moves in all equal blocks at once
    /// Told on the caller's thread of the best so far, when it improved and a few times a second. May be
    /// empty.
    std::function<void(const Candidate& best)> report = {};
};

/// Improves `start`, which need not fit the budget, until the deadline, or for `options.max_moves` moves of
/// each thread. Without `max_moves` a thread whose best schedule fits also ends after several times the
/// moves that it took to find that schedule. When the moves end the search, the result depends only on the
/// start, the options, the seed and the number of threads.
PortfolioResult anneal_portfolio(const FlatGraph& graph, const Candidate& start, const PortfolioTask& task,
                                 const AnnealingOptions& options, const Deadline& deadline);

}  // namespace rematlas::annealing
