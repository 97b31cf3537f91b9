#include "core/planning/least_budget.h"

#include <algorithm>
#include <numeric>

#include "core/solving/answers.h"

namespace rematlas {
namespace {

constexpr int rounds = 12;
constexpr double close_enough = 0.002;  // the search ends when the least peak found minus the largest budget
                                        // that is too small is at most this share of that peak

class Bisection {
  public:
    Bisection(const Problem& problem, SolveRequest request, double max_overhead, const Progress& progress)
        : problem_(problem),
          request_(std::move(request)),
          max_overhead_(max_overhead),
          progress_(progress),
          proven_(infeasible_from(problem, Bytes(0), std::nullopt).needed),
          too_small_(proven_ - Bytes(1)) {}

    Result<LeastBudget> run() {
        const std::chrono::nanoseconds each = request_.limits.time / rounds;
        request_.limits.time = each;
        if (Result<void> tried = try_budget(keep_all_peak(problem_.flat)); !tried) return tried.error();
        if (!best_)
            return Error{"no schedule takes at most " + std::to_string(max_overhead_) + " of the time"};
        for (int round = 1; round < rounds && !is_close() && !request_.limits.stop.stop_requested();
             ++round) {
            const Bytes middle(std::midpoint(too_small_.value, best_->peak.value));
            if (Result<void> tried = try_budget(middle); !tried) return tried.error();
            if (progress_)
                progress_({.overhead = best_->overhead,
                           .peak = best_->peak,
                           .bound = {},
                           .fraction_done = static_cast<double>(round) / rounds});
        }
        return LeastBudget{.schedule = *std::move(best_), .proven = proven_};
    }

  private:
    bool is_close() const {
        const auto gap = static_cast<double>((best_->peak - too_small_).value);
        return gap <= std::max(1.0, close_enough * static_cast<double>(best_->peak.value));
    }

    Result<void> try_budget(Bytes budget) {
        request_.budget = budget;
        Result<Outcome> outcome = solve(problem_, request_);
        if (!outcome) return outcome.error();
        if (const Infeasible* none = outcome->infeasible()) {
            if (none->proven) proven_ = std::max(proven_, none->needed);
            too_small_ = std::max(too_small_, budget);
            return {};
        }
        const Schedule& schedule = *outcome->schedule();
        if (schedule.overhead <= max_overhead_) {
            if (!best_ || schedule.peak < best_->peak) best_ = schedule;
            return {};
        }
        // The margin allows for rounding, because a bound has an accuracy of 1e-9.
        if (schedule.bound && schedule.bound->overhead > max_overhead_ * (1 + 1e-9))
            proven_ = std::max(proven_, budget + Bytes(1));
        too_small_ = std::max(too_small_, budget);
        return {};
    }

    const Problem& problem_;
    SolveRequest request_;
    double max_overhead_;
    const Progress& progress_;
    Bytes proven_;
    Bytes too_small_;  ///< the largest budget for which no schedule within the overhead limit was found
    std::optional<Schedule> best_;
};

}  // namespace

Result<LeastBudget> least_budget(const Problem& problem, SolveRequest request, double max_overhead,
                                 const Progress& progress) {
    return Bisection(problem, std::move(request), max_overhead, progress).run();
}

}  // namespace rematlas
