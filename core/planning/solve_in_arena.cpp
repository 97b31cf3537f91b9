#include "core/planning/solve_in_arena.h"

#include <algorithm>

#include "core/addresses/address_plan.h"
#include "core/checking/check_addresses.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr int kMostTries = 16;
constexpr std::int64_t kEfforts[] = {100'000'000, 300'000'000};
constexpr std::int64_t kNanosecondsPerComparison = 2;
/// Live budgets (budgets for the live peak) that differ by at most budget / kFinest count as equal.
constexpr std::int64_t kFinest = 2000;

class ArenaSearch {
  public:
    ArenaSearch(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                const Progress& progress)
        : problem_(problem),
          solver_(solver),
          budget_(budget),
          limits_(limits),
          progress_(progress),
          start_(Clock::now()),
          alignment_(alignment_for(problem.graph)) {}

    Result<Outcome> run() {
        Bytes live = budget_;
        for (int attempt = 0; attempt < kMostTries && goes_on(attempt); ++attempt) {
            const bool last_word = best_.has_value();
            Result<Outcome> outcome = attempt_at(live, attempt);
            if (!outcome) return outcome.error();
            if (outcome->infeasible()) {
                if (!scheduled_ && (attempt > 0 || outcome->infeasible()->proven)) return outcome;
                if (!scheduled_) continue;  // the next attempt takes longer
                if (last_word) break;
                too_small_ = live;
            } else {
                scheduled_ = true;
                Schedule& schedule = std::get<Schedule>(outcome->answer);
                Result<AddressPlan> plan = plan_for(schedule);
                if (!plan) return plan.error();
                smallest_ = std::min(smallest_.value_or(plan->arena), plan->arena);
                const Bytes peak = schedule.peak;
                const bool optimal = schedule.status == "optimal";
                if (plan->arena <= budget_) {
                    keep(std::move(schedule), *plan);
                    if (last_word || optimal) break;
                    continue;  // this attempt was short; a long one follows
                }
                too_large_ = live;
                live = lower(live, plan->arena, peak);
            }
            // The next live budget is between a live budget without a schedule and a live budget whose arena
            // is too large.
            if (too_small_ && live <= *too_small_)
                live = *too_small_ + Bytes((too_large_ - *too_small_).value / 2);
            if (too_small_ && live <= *too_small_ + Bytes(budget_.value / kFinest)) break;
        }
        return answer();
    }

  private:
    nanoseconds left() const { return limits_.time - (Clock::now() - start_); }
    bool goes_on(int attempt) const {
        return attempt == 0 || (!limits_.stop.stop_requested() && left() > limits_.time / 50);
    }

    /// Solves with `live` as the budget for the live peak. An attempt is short until an arena fits, because
    /// the bytes that addresses need beyond the live peak differ from schedule to schedule. An attempt is
    /// long in two cases: after an arena has fitted, or if the first attempt found no schedule.
    Result<Outcome> attempt_at(Bytes live, int attempt) {
        Limits limits = limits_;
        limits.bound_time = {};
        const bool at_length = best_ || (attempt > 0 && !scheduled_);
        limits.time = at_length ? left() * 2 / 3 : std::min(limits_.time / 16, left());
        return solve(problem_, solver_, live, limits, progress_);
    }

    Result<AddressPlan> plan_for(const Schedule& schedule) {
        AddressOptions options{.alignment = alignment_, .homes = schedule.homes, .links = schedule.links};
        Result<AddressPlan> best = Error{"no time"};
        for (const std::int64_t effort : kEfforts) {
            const auto affordable = std::max<std::int64_t>(0, left().count() / 3 / kNanosecondsPerComparison);
            options.effort = std::min(effort, affordable);
            Result<AddressPlan> plan = plan_addresses(problem_.graph, schedule.steps, options);
            if (!plan) return plan;
            if (!best || plan->arena < best->arena) best = plan.take();
            if (best->arena <= budget_ || best->arena > budget_ + Bytes(budget_.value / 512)) break;
        }
        if (Result<void> sound = check_addresses(problem_.graph, schedule.steps,
                                                 addresses_from(*best, alignment_), true, schedule.homes);
            !sound)
            return Error{"planned addresses that the checker refuses, please report it: " +
                         sound.error().message};
        return best;
    }

    /// Returns the next live budget: the budget minus the bytes that the addresses took beyond the live peak,
    /// but at most `live` minus half of the bytes by which the arena exceeds the budget.
    Bytes lower(Bytes live, Bytes arena, Bytes peak) const {
        const Bytes beyond = arena - peak;
        const Bytes step((arena - budget_).value / 2 + 1);
        return std::min(live - step, budget_ - beyond);
    }

    void keep(Schedule&& schedule, const AddressPlan& plan) {
        if (best_ && best_->overhead <= schedule.overhead) return;
        schedule.addresses = addresses_from(plan, alignment_);
        best_ = std::move(schedule);
    }

    /// Returns the best schedule with a bound at the budget of the arena. A bound at a smaller live budget
    /// does not hold for the larger budget. A bound on schedules by their live peak does hold for the arena,
    /// because no arena is smaller than its live peak.
    Result<Outcome> answer() {
        Outcome outcome;
        outcome.budget = budget_;
        outcome.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
        if (!best_) {
            Infeasible none = infeasible_from(problem_, budget_, smallest_);
            outcome.answer = std::move(none);
            return outcome;
        }
        best_->solve_seconds = outcome.seconds;
        if (best_->budget != budget_) {
            best_->budget = budget_;
            best_->bound.reset();
            best_->status = "feasible";
        }
        if (Result<void> bounded = add_bound(problem_, budget_, limits_, *best_); !bounded)
            return bounded.error();
        outcome.answer = std::move(*best_);
        return outcome;
    }

    const Problem& problem_;
    const Solver& solver_;
    Bytes budget_;
    const Limits& limits_;
    const Progress& progress_;
    Clock::time_point start_;
    std::int64_t alignment_;
    std::optional<Schedule> best_;
    bool scheduled_ = false;          ///< whether some attempt found a schedule
    std::optional<Bytes> smallest_;   ///< the smallest arena of all attempts
    std::optional<Bytes> too_small_;  ///< a live budget for which no schedule was found
    Bytes too_large_;                 ///< the most recent live budget whose arena did not fit
};

}  // namespace

Result<Outcome> solve_in_arena(const Problem& problem, const Solver& solver, Bytes budget,
                               const Limits& limits, const Progress& progress) {
    return ArenaSearch(problem, solver, budget, limits, progress).run();
}

}  // namespace rematlas
