// Keeps the best schedule and the best bound of one call of a solver, and reports progress.
//
//     Incumbent best(problem.flat, budget, deadline, progress);
//     best.offer(Candidate::of(problem.flat, runs));              // reported if it is better and fits
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

/// A schedule counts as optimal if its overhead exceeds the bound by at most this share of the bound, because
/// overheads are rounded.
constexpr double kOptimalGap = 1e-9;

class Incumbent {
  public:
    /// Keeps references to all arguments except the budget. `progress` may be empty.
    Incumbent(const FlatGraph& graph, Bytes budget, const Deadline& deadline, const Progress& progress)
        : graph_(graph), budget_(budget), deadline_(deadline), progress_(progress) {}

    /// Takes the candidate if it is better than all earlier ones (`Candidate::better_than`). Reports it if it
    /// is taken and fits the budget. Returns whether the candidate was taken.
    bool offer(Candidate candidate);
    /// Like `offer`, but computes the cost of the runs first. Returns false if the runs are not executable
    /// (`is_executable`), so the caller need not check runs that it decoded from the rounded solution of an
    /// integer program.
    bool offer_runs(RunSequence runs);
    /// Like `offer`, for another solver's solution. A schedule that copies tensors is not taken.
    bool offer_solution(const Solution& solution);
    /// Like `offer`, but also takes a candidate that is as good as the incumbent. If the candidates of
    /// several threads are settled in a fixed order, the answer does not depend on which thread reported
    /// first.
    void settle(Candidate candidate);
    /// Notes the peak of a schedule that is not offered. If no candidate fits, `answer` returns the least of
    /// all offered and noted peaks as `smallest_found`.
    void note_peak(Bytes peak);

    /// Notes that no schedule of the class `over` has a smaller overhead than `overhead`. The higher of two
    /// bounds is kept. Of two equal bounds, the one for the larger class is kept.
    void raise_bound(double overhead, ScheduleClass over);
    /// Adds the wall clock time spent on bounds, and sets the number of nodes of a branch and bound. The
    /// answer contains these numbers.
    void add_bound_work(double seconds, std::optional<std::int64_t> nodes = {});

    /// Reports the best schedule if it fits. Solvers should call this after a new bound, and from time to
    /// time.
    void report();
    /// The share of the time limit, 0 .. 1, that had passed at the last report.
    double reported_at() const { return reported_at_; }

    /// Says whether the best candidate fits the budget.
    bool fits() const { return best_ && best_->peak <= budget_.value; }
    /// The best candidate; it fits if any offered candidate does. At least one candidate must have been
    /// offered.
    const Candidate& best() const { return *best_; }
    double overhead() const;  ///< overhead of the best candidate
    std::optional<double> bound() const;
    /// Says whether the best candidate fits and its overhead is at most (1 + `gap`) * bound.
    bool is_proven(double gap = kOptimalGap) const;

    /// Returns the best schedule with its bound, marked optimal if `is_proven()`. Returns `Infeasible` with
    /// the least peak found if no candidate fits.
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
