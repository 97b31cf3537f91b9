// The best schedule so far of one call of a solver, what is proven of all schedules, and who hears of it.
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

/// Overheads are doubles: a schedule so close to its bound, as a share of it, is optimal.
constexpr double kOptimalGap = 1e-9;

class Incumbent {
  public:
    /// Keeps references to all of them. `progress` may be empty.
    Incumbent(const FlatGraph& graph, Bytes budget, const Deadline& deadline, const Progress& progress)
        : graph_(graph), budget_(budget), deadline_(deadline), progress_(progress) {}

    /// Takes it where it is better than all before (`Candidate::better_than`), and reports it where it fits
    /// the budget. True when it was taken.
    bool offer(Candidate candidate);
    /// The same with runs whose cost is not known yet. Runs that are not executable are not taken: what a
    /// programme in doubles says is played before it counts.
    bool offer_runs(RunSequence runs);
    /// The same with what another solver found. Only its runs: a schedule that copies tensors is not taken.
    bool offer_solution(const Solution& solution);
    /// Takes it where nothing is better, so that of equals the last stays: for an answer that must not depend
    /// on which thread reported first.
    void settle(Candidate candidate);
    /// A peak that was reached by a schedule that is not at hand.
    void note_peak(Bytes peak);

    /// No schedule of the class has a smaller overhead. Of two bounds the higher one stays, of equals the one
    /// of the larger class.
    void raise_bound(double overhead, ScheduleClass over);
    /// Wall clock that bounds took, and nodes of a branch and bound, for the answer.
    void add_bound_work(double seconds, std::optional<std::int64_t> nodes = {});

    /// Tells of the best schedule, where one fits: for a new bound, or that time goes by.
    void report();
    /// Share of the time that had gone by at the last report, 0 .. 1.
    double reported_at() const { return reported_at_; }

    /// Whether a schedule fits the budget.
    bool fits() const { return best_ && best_->peak <= budget_.value; }
    /// The best one, which fits unless none does; there must have been one.
    const Candidate& best() const { return *best_; }
    double overhead() const;  ///< of the best one
    std::optional<double> bound() const;
    /// Whether the best schedule fits, and its overhead is above the bound by so much at most.
    bool is_proven(double gap = kOptimalGap) const;

    /// The best schedule with its bound, optimal where `is_proven()`; or how low the schedules went.
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
