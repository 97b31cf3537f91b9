// Schedules with copies for a sequence of runs: what is away by a programme or by a rule, then the steps,
// then trials.
//
//     const CopyPlanner planner(problem, budget, options);
//     std::optional<CopyingPlan> plan = planner.by_programme(runs, deadline);
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

constexpr int kAllStages = 3;  ///< numbers of stages that there are

/// Steps that keep both budgets, with what they came from.
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

    /// The heaviest away until the budget is kept (heaviest_away.h); nothing where it cannot be. Cost: near
    /// linear.
    std::optional<CopyingPlan> by_weight(const std::vector<PlacedRun>& runs) const;

    /// By the programme (away_programme.h) at several numbers of stages, the best of what its roundings come
    /// to and of `by_weight`. `numbers`: how many numbers of stages, the smallest first.
    std::optional<CopyingPlan> by_programme(const std::vector<PlacedRun>& runs, const Deadline& deadline,
                                            int numbers = kAllStages) const;

    /// The runs without copies, where that keeps the budget and the runs are in a right order.
    std::optional<CopyingPlan> without_copies(const std::vector<PlacedRun>& runs) const;

    /// Tries one change of what is away after the other, from a gap that is to be kept, with another away
    /// instead where there is no room for it, or to be away, and keeps what takes less time, or as long with
    /// fewer bytes copied. Depends on seed and trials alone unless the deadline ends it. True where it became
    /// faster.
    bool improve(CopyingPlan& plan, int trials, std::uint64_t seed, const Deadline& deadline) const;

    /// The least budget at which the runs have room, whatever it takes.
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
