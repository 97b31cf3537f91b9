// The best schedule so far of one call of a solver, the bound on all schedules, and the reports of both.
//
//     Incumbent best(problem.flat, budget, deadline, progress);
//     best.offer(Candidate::of(problem.flat, runs));              // reported where it is better and fits
//     best.raise_bound(1.07, ScheduleClass::any_order);
//     while (!best.is_proven() && !deadline.passed()) ...
//     return best.answer();
#pragma once

#include <cstdint>
#include <optional>

#include "core/solving/candidate.h"
#include "core/solving/limits.h"
#include "core/solving/solver.h"

namespace rematlas {

/// A schedule whose overhead is above its bound by at most this share counts as optimal, since overheads are
/// doubles.
constexpr double kOptimalGap = 1e-9;

class Incumbent {
  public:
    /// Keeps references to all arguments but the budget. `progress` may be empty.
    Incumbent(const FlatGraph& graph, Bytes budget, const Deadline& deadline, const Progress& progress)
        : graph_(graph), budget_(budget), deadline_(deadline), progress_(progress) {}

    /// Takes the candidate where it is better than all before (`Candidate::better_than`), and reports it
    /// where it fits the budget. Returns whether it was taken.
    bool offer(Candidate candidate);
    /// The same with runs whose cost is not known yet. Runs that are not executable are not taken: a
    /// solution that a programme in doubles proposes is played before it counts.
    bool offer_runs(RunSequence runs);
    /// The same with the runs of another solver's solution. A schedule that copies tensors is not taken.
    bool offer_solution(const Solution& solution);
    /// Takes the candidate where nothing is better, so that the last of equals stays. An answer that must
    /// not depend on which thread reported first needs this.
    void settle(Candidate candidate);
    /// Notes the peak of a schedule that is not at hand.
    void note_peak(Bytes peak);

    /// Notes that no schedule of the class has a smaller overhead. The higher of two bounds stays; of equal
    /// bounds, the one of the larger class.
    void raise_bound(double overhead, ScheduleClass over);
    /// Adds the wall clock that bounds took, and sets the nodes of a branch and bound, for the answer.
    void add_bound_work(double seconds, std::optional<std::int64_t> nodes = {});

    /// Reports the best schedule, where it fits: after a new bound, or because time goes by.
    void report();
    /// Share of the time that had gone by at the last report, 0 .. 1.
    double reported_at() const { return reported_at_; }

    /// Whether a schedule fits the budget.
    bool fits() const { return best_ && best_->peak <= budget_.value; }
    /// The best candidate, which fits unless none does. At least one must have been offered.
    const Candidate& best() const { return *best_; }
    double overhead() const;  ///< of the best candidate
    std::optional<double> bound() const;
    /// Whether the best candidate fits, and its overhead is above the bound by at most the share `gap`.
    bool is_proven(double gap = kOptimalGap) const;

    /// The best schedule with its bound, optimal where `is_proven()`; `Infeasible` with the least peak where
    /// none fits.
    Answer answer() const;

  private:
    const FlatGraph& graph_;
    const Bytes budget_;
    const Deadline& deadline_;
    const Progress& progress_;
    std::optional<Candidate> best_;
    std::optional<Bytes> smallest_peak_;
    std::optional<Bound> bound_;
    double bound_seconds_ = 0;
    std::optional<std::int64_t> bound_nodes_;
    double reported_at_ = 0;
};

}  // namespace rematlas
