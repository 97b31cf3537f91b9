// Plans schedules with copies for a sequence of runs. A linear program or a simple rule decides which tensors
// are on the host and when. Then the steps are written. Finally small changes are tried to improve the plan.
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

constexpr int kAllStages = 3;  ///< the linear program can be tried with this many different stage counts

/// Steps that keep both budgets, and the runs and gaps from which the steps were written.
struct CopyingPlan {
    std::vector<PlacedRun> runs;
    std::vector<char> away;  ///< by index in `Lifetimes::gaps`: whether the tensor is away in the gap
    std::vector<Step> steps;
    Homes homes;
    std::int64_t time = 0, peak = 0;
};

struct CopyPlannerOptions {
    std::int64_t least_copy = 0;  ///< bytes; smaller tensors leave the device only if needed
    double price = 0.01;          ///< in the objective, a second of copying counts as this many seconds
    ProgrammeLimits programme;
};

/// Adds gaps to `away` until Lifetimes::memory is within the budget. Repeatedly takes the run furthest above
/// the budget. Of the tensors that this run does not need, the one with the largest idle time * bytes leaves;
/// bytes beyond the run's excess do not count. Tensors below `least_copy` leave only if nothing else helps.
/// Returns false if some run cannot be brought within the budget. Cost: linear in the gaps and the runs for
/// each added gap.
bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away);

class CopyPlanner {
  public:
    /// `problem` must outlive the object.
    CopyPlanner(const Problem& problem, Bytes budget, const CopyPlannerOptions& options);

    /// Moves tensors to the host, the large ones with long gaps first, until the budget is kept
    /// (`mend`). Returns nullopt if it cannot be kept. Cost: nearly linear in the runs, times the
    /// number of gaps in which tensors are moved.
    std::optional<CopyingPlan> by_weight(const std::vector<PlacedRun>& runs) const;

    /// Solves the linear program (away_programme.h) for several stage counts. Returns the best of the rounded
    /// solutions and the plan of `by_weight`. `numbers`: how many stage counts are tried, the smallest first.
    std::optional<CopyingPlan> by_programme(const std::vector<PlacedRun>& runs, const Deadline& deadline,
                                            int numbers = kAllStages) const;

    /// Returns the plan that runs `runs` without copies, or nullopt if it breaks the budget or the order of
    /// the runs is not allowed.
    std::optional<CopyingPlan> without_copies(const std::vector<PlacedRun>& runs) const;

    /// Tries changes of single gaps, one after the other. If the tensor is away in the gap, the change keeps
    /// it on the device (other tensors leave if there is no room). Otherwise the change sends it away. A
    /// change is accepted if the step then takes less time, or the same time with no more bytes away. The
    /// result depends only on the arguments unless the deadline ends the search. Returns whether the plan
    /// became faster.
    bool improve(CopyingPlan& plan, int trials, std::uint64_t seed, const Deadline& deadline) const;

    /// Returns the least budget that is enough for the runs if every tensor that may be away is away.
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
