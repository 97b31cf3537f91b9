#include "core/solvers/atlas/smallest_budget.h"

#include <algorithm>

#include "core/solvers/atlas/anneal.h"
#include "core/solvers/atlas/greedy_start.h"
#include "core/solvers/required_once.h"

namespace rematlas {

namespace {

using atlas::Annealer;
using atlas::Candidate;

constexpr double kCloseEnough = 0.002;  // of the budget: where the search between two budgets ends
constexpr std::uint64_t kFirstCycle = 20'000;
constexpr int kMostRounds = 64;

/// Anneals at a budget until something fits, for `share` of the whole time; keeps the least peak seen.
void try_budget(const FlatGraph& graph, std::int64_t budget, const Deadline& deadline, double share, std::uint64_t seed,
                Candidate& best) {
    const double until = std::min(1.0, deadline.fraction() + share);
    const AtlasOptions options;
    Candidate start = best_start(graph, budget, best, deadline, until, [](const Candidate&) {});
    if (start.peak < best.peak) best = start;
    if (best.peak <= budget) return;
    Annealer annealer(graph, budget, std::move(start), options, seed);
    std::uint64_t moves = kFirstCycle;
    const auto go_on = [&](const Candidate& found) { return found.peak > budget && deadline.fraction() < until; };
    while (annealer.run_cycle(moves, 1, deadline, go_on)) moves *= 2;
    if (annealer.best().peak < best.peak) best = annealer.best();
}

}  // namespace

SmallestBudget smallest_feasible(const FlatGraph& graph, const Limits& limits) {
    const Deadline deadline(limits);
    const std::int64_t least = least_peak(graph).bytes.value;
    Candidate best = Candidate::of(graph, required_once(graph));
    // Most graphs have a schedule at or near the bound, so this is tried longest.
    if (best.peak > least) try_budget(graph, least, deadline, 0.4, limits.seed, best);
    std::int64_t failed = least;
    for (int round = 1; round < kMostRounds && best.peak > least && !deadline.passed(); ++round) {
        if (static_cast<double>(best.peak - failed) <= kCloseEnough * static_cast<double>(best.peak)) break;
        const std::int64_t middle = failed + (best.peak - failed) / 2;
        try_budget(graph, middle, deadline, 0.15, limits.seed + static_cast<std::uint64_t>(round), best);
        if (best.peak > middle) failed = middle;
    }
    return {Bytes(best.peak), std::move(best.runs), best.peak <= least};
}

}  // namespace rematlas
