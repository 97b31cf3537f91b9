// Plans schedules with copies for a sequence of runs. A programme or a rule decides which tensors are away,
// then the steps are written, then trials improve the plan.
//
//     const CopyPlanner planner(problem, budget, options);
//     std::optional<CopyingPlan> plan = planner.by_programme(placed_runs, deadline);
//     planner.improve(*plan, 1000, seed, deadline);
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/solvers/offmate/copying_steps.h"
#include "core/solvers/offmate/lifetimes.h"
#include "core/solving/programme.h"
#include "core/solving/solver.h"

namespace rematlas::offmate {

constexpr int kAllStages = 3;  ///< how many numbers of stages there are to try

/// Steps that keep both budgets, with the runs and the gaps that they were written from.
struct CopyingPlan {
    std::vector<PlacedRun> runs;
    std::vector<char> away;  ///< by gap of the runs' lifetimes
    std::vector<Step> steps;
    Homes homes;
    std::int64_t time = 0, peak = 0;
};

struct CopyPlannerOptions {
    std::int64_t least_copy = 0;  ///< bytes: smaller tensors stay where others can go
    double price = 0.01;          ///< of link time, as a share of time
    ProgrammeLimits programme;
};

class CopyPlanner {
  public:
    /// `problem` must outlive it.
    CopyPlanner(const Problem& problem, Bytes budget, const CopyPlannerOptions& options);

    /// Sends the heaviest tensors away until the budget is kept (heaviest_away.h). Empty if it cannot be
    /// kept. Cost: near linear in the runs for each gap that is sent away.
    std::optional<CopyingPlan> by_weight(const std::vector<PlacedRun>& runs) const;

    /// The best of `by_weight` and of all roundings of the programme (away_programme.h) at several numbers
    /// of stages. `numbers`: how many numbers of stages are tried, the smallest first.
    std::optional<CopyingPlan> by_programme(const std::vector<PlacedRun>& runs, const Deadline& deadline,
                                            int numbers = kAllStages) const;

    /// The runs without copies. Empty if they do not keep the budget, or the order of the runs is not
    /// allowed.
    std::optional<CopyingPlan> without_copies(const std::vector<PlacedRun>& runs) const;

    /// Tries changes of the gaps, one after the other: a gap that is away is kept (others go away instead if
    /// there is no room for it), or the reverse. A change stays if the step takes less time, or as much time
    /// with fewer bytes away. The result depends on seed and trials alone unless the deadline ends the
    /// search. Returns whether the plan became faster.
    bool improve(CopyingPlan& plan, int trials, std::uint64_t seed, const Deadline& deadline) const;

    /// The least budget at which the runs have room if every tensor that may be away is away.
    std::int64_t least_budget(const std::vector<PlacedRun>& runs) const;

  private:
    Lifetimes lifetimes(const std::vector<PlacedRun>& runs) const;
    std::optional<CopyingPlan> emitted(const Lifetimes& lives, std::vector<char> away) const;
    void offer(const Lifetimes& lives, std::vector<char> away, std::optional<CopyingPlan>& best) const;

    const Problem& problem_;
    const std::int64_t budget_;
    const CopyPlannerOptions options_;
    const MayLeave may_leave_;
};

}  // namespace rematlas::offmate
