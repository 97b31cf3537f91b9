#include "core/solvers/atlas/smallest_budget.h"

#include <algorithm>
#include <iterator>

#include "core/bounds/least_memory.h"
#include "core/schedule/update_order.h"
#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/hierarchical/rockmate.h"

namespace rematlas {

namespace {

using annealing::Annealer;

constexpr double kGreedyShare = 0.4;       // share of the time for greedy schedules
constexpr double kBlockTableShare = 0.5;   // share of the remaining time for the table of the blocks
constexpr double kBlockPrecision = 0.002;  // precision of the bisection with blocks, as a share of the peak
constexpr double kGreedyPrecision = 0.01;  // the same for the bisection with greedy schedules
// The first budget of the annealing is lower than the least peak by this share of that peak.
constexpr double kFirstStep = 0.03;
constexpr double kLeastStep = 1e-4, kLongestStep = 0.5;
constexpr double kMovesAnOp = 60;
constexpr double kLeastMoves = 5'000;

/// Settings of the annealing. They are used one after the other. Each is used until even the smallest step to
/// a smaller budget fails. After the last one the search ends.
struct Round {
    double patience;  ///< factor for the number of moves
    double heat;
};
constexpr Round kRounds[] = {{1, 0.5}, {1, 2}, {2, 0.2}, {4, 1}, {8, 3}};

class Descent {
  public:
    Descent(const FlatGraph& graph, const Limits& limits, Bytes enough)
        : graph_(graph),
          deadline_(limits),
          seed_(limits.seed),
          proven_(least_memory(graph, {.time = limits.time / 8, .stop = limits.stop}).bytes.value),
          least_(std::max(proven_, enough.value)),
          best_(Candidate::of(graph, required_once(graph))) {}

    /// Runs the search. Schedules made of blocks are tried only if `problem` is not null.
    SmallestBudget run(const Problem* problem, const Limits& limits) {
        bisect_greedy();
        if (problem && best_.peak > least_ && is_sequence_of_blocks(*problem))
            bisect_blocks(*problem, limits);
        step_down();
        return {Bytes(best_.peak), std::move(best_.runs), best_.peak <= proven_};
    }

  private:
    template <class Attempt>
    void bisect(std::int64_t failed, std::int64_t first, double precision, double share,
                const Attempt& attempt);
    void bisect_greedy();
    void bisect_blocks(const Problem& problem, const Limits& limits);
    void step_down();
    bool anneal_at(std::int64_t budget, std::uint64_t moves, double heat);

    const FlatGraph& graph_;
    const Deadline deadline_;
    std::uint64_t seed_;
    const std::int64_t proven_;
    const std::int64_t least_;  ///< the search ends at a peak of at most this many bytes
    Candidate best_;
};

// Bisects between `failed`, a budget at which no attempt succeeded, and the least peak found. `attempt`
// searches for a schedule at a budget, and replaces `best_` if it finds a schedule with a smaller peak.
template <class Attempt>
void Descent::bisect(std::int64_t failed, std::int64_t first, double precision, double share,
                     const Attempt& attempt) {
    for (std::int64_t budget = first;
         best_.peak > budget && deadline_.fraction() < share && !deadline_.passed();
         budget = failed + (best_.peak - failed) / 2) {
        attempt(budget);
        if (best_.peak > budget) failed = budget;
        const double near = std::max(1.0, precision * static_cast<double>(best_.peak));
        if (static_cast<double>(best_.peak - failed) <= near) return;
    }
}

// Bisects with greedy schedules only. The first budget is `least_`, which is usually the proven bound: many
// graphs have a schedule whose peak is that bound.
void Descent::bisect_greedy() {
    bisect(0, least_, kGreedyPrecision, kGreedyShare, [&](std::int64_t budget) {
        Candidate found = annealing::best_start(graph_, budget, best_, deadline_, 0, [](const Candidate&) {});
        if (found.peak < best_.peak) best_ = std::move(found);
    });
}

// Bisects with schedules from blocks. One table gives the answers for all budgets.
void Descent::bisect_blocks(const Problem& problem, const Limits& limits) {
    Limits part = limits.with_time(share_of(deadline_.left(), kBlockTableShare));
    RockmateOptions few;  // only the options with the least memory matter here
    few.blocks.bottom = {.saved_limits = 6, .peak_limits = 4, .moves_an_op = 40};
    few.slots = 250;
    const auto blocks = make_rockmate(few)->up_to(problem, Bytes(best_.peak), part);
    const std::int64_t middle = least_ + (best_.peak - least_) / 2;
    bisect(least_, middle, kBlockPrecision, 1, [&](std::int64_t budget) {
        part.time = deadline_.left();
        const Answer answer = blocks->solve(problem, Bytes(budget), part, {});
        if (const auto* solution = std::get_if<Solution>(&answer)) {
            if (std::optional<RunSequence> runs = runs_of(solution->steps))
                best_ = Candidate::of(graph_, *std::move(runs));
        }
    });
}

// Anneals from the sequence with the least peak, at a budget a little below that peak. The next step down is
// longer after a success and shorter after a failure. If the budget were far below the peak, so many runs
// would exceed it that the search would find no schedule within it.
void Descent::step_down() {
    double step = kFirstStep;
    std::size_t round = 0;
    while (round < std::size(kRounds) && best_.peak > least_ && !deadline_.passed()) {
        const auto below = static_cast<std::int64_t>(step * static_cast<double>(best_.peak));
        const std::int64_t budget = std::max(least_, best_.peak - std::max<std::int64_t>(below, 1));
        const double moves = std::max(kLeastMoves, kMovesAnOp * graph_.op_count) * kRounds[round].patience;
        if (anneal_at(budget, static_cast<std::uint64_t>(moves), kRounds[round].heat)) {
            step = std::min(kLongestStep, step * 1.5);
        } else if (below > 1 && step > kLeastStep) {
            step /= 2;
        } else {
            step = kFirstStep;
            ++round;
        }
    }
}

bool Descent::anneal_at(std::int64_t budget, std::uint64_t moves, double heat) {
    const AnnealingOptions options;
    Annealer annealer(graph_, budget, best_, options, seed_++);
    annealer.run_cycle(moves, heat, deadline_, [&](const Candidate& found) { return found.peak > budget; });
    if (annealer.best().peak < best_.peak) best_ = annealer.best();
    return best_.peak <= budget;
}

}  // namespace

SmallestBudget smallest_feasible(const FlatGraph& graph, const Limits& limits, Bytes enough) {
    return Descent(graph, limits, enough).run(nullptr, limits);
}

SmallestBudget smallest_feasible(const Problem& problem, const Limits& limits, Bytes enough) {
    SmallestBudget found = Descent(problem.flat, limits, enough).run(&problem, limits);
    RunSequence ordered = behind_readers(problem.graph, found.runs);
    if (ordered == found.runs) return found;
    found.peak = Bytes(cost_of(problem.flat, ordered).peak);
    found.runs = std::move(ordered);
    found.proven = false;
    return found;
}

}  // namespace rematlas
