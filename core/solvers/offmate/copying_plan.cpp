#include "core/solvers/offmate/copying_plan.h"

#include <algorithm>
#include <memory>
#include <span>

#include "core/schedule/simulate.h"
#include "core/solvers/annealing/random.h"
#include "core/solvers/offmate/away_programme.h"

namespace rematlas::offmate {
namespace {

/// Stage counts of the linear program. With few stages, the program's times are rough; with many, the
/// solution leaves little memory free for rounding to whole tensors. No stage count is always best, so all
/// are tried.
constexpr int kStages[kAllStages] = {120, 300, 800};

std::int64_t bytes_away(const FlatGraph& flat, const Lifetimes& lives, const std::vector<char>& away) {
    std::int64_t bytes = 0;
    for (std::size_t g = 0; g < away.size(); ++g) bytes += away[g] ? flat.bytes[lives.gaps[g].tensor] : 0;
    return bytes;
}

/// A resident that the training step changes must live on the host if it leaves the device in any gap. Marks
/// such residents as away at the start and at the end. A training program requires this (see
/// moves_in_training).
void let_changed_live_on_host(const Lifetimes& lives, std::vector<char>& away) {
    for (std::size_t g = 0; g < away.size(); ++g) {
        const std::int32_t t = lives.gaps[g].tensor;
        if (away[g] && lives.is_resident(t) && lives.is_changed(t))
            away[lives.first_gap(t)] = away[lives.last_gap(t)] = 1;
    }
}

class Mender {
  public:
    Mender(const FlatGraph& flat, const Lifetimes& lives, std::int64_t least_copy, std::vector<char>& away)
        : flat_(flat), lives_(lives), least_copy_(least_copy), away_(away), memory_(lives.memory(away)) {
        clock_.push_back(0);
        for (const PlacedRun& run : lives.runs())
            clock_.push_back(clock_.back() + (run.on_host ? 0 : flat.time[run.op]));
    }

    bool mend(std::int64_t budget) {
        while (true) {
            const auto worst = std::max_element(memory_.begin(), memory_.end());
            if (*worst <= budget) return true;
            const std::int32_t gap = best_at(static_cast<int>(worst - memory_.begin()), *worst - budget);
            if (gap < 0) return false;
            take(gap);
        }
    }

  private:
    /// If the tensor is away in the gap `g`, it may have to be away in another gap, too: a resident that
    /// lives on the host is away in both its first and its last gap. Returns this other gap; -1 if there is
    /// none.
    std::int32_t partner(std::int32_t g) const {
        const Gap& gap = lives_.gaps[g];
        if (!lives_.is_resident(gap.tensor)) return -1;
        const std::int32_t first = lives_.first_gap(gap.tensor), last = lives_.last_gap(gap.tensor);
        if (first == last) return -1;
        return g == first ? last : g == last ? first : -1;
    }

    /// Returns the range of indices in the result of Lifetimes::memory at which the tensor is not counted if
    /// it is away in the gap: the first index, and the one after the last.
    std::pair<int, int> places(const Gap& gap) const {
        const int end = gap.stays_away ? lives_.run_count() + 2 : gap.end + 1;
        return {gap.begin == kStart ? 0 : gap.begin + 2, end};
    }

    std::int32_t best_at(int place, std::int64_t missing) const {
        std::int32_t best = -1;
        double most = -1;
        for (std::size_t g = 0; g < lives_.gaps.size(); ++g) {
            const Gap& gap = lives_.gaps[g];
            const auto [from, behind] = places(gap);
            if (away_[g] || !gap.movable || place < from || place >= behind) continue;
            const std::int64_t bytes = flat_.bytes[gap.tensor];
            const double idle = static_cast<double>(1 + clock_[static_cast<std::size_t>(gap.end)] -
                                                    clock_[static_cast<std::size_t>(gap.begin + 1)]);
            double score = idle * static_cast<double>(std::min(bytes, missing));
            if (bytes < least_copy_) score *= 1e-9;
            if (score <= most) continue;
            most = score;
            best = static_cast<std::int32_t>(g);
        }
        return best;
    }

    void take(std::int32_t g) {
        for (const std::int32_t gap : {g, partner(g)}) {
            if (gap < 0 || away_[gap]) continue;
            away_[gap] = 1;
            const auto [from, behind] = places(lives_.gaps[gap]);
            for (int place = from; place < behind; ++place)
                memory_[static_cast<std::size_t>(place)] -= flat_.bytes[lives_.gaps[gap].tensor];
        }
    }

    const FlatGraph& flat_;
    const Lifetimes& lives_;
    const std::int64_t least_copy_;
    std::vector<char>& away_;
    std::vector<std::int64_t> memory_, clock_;
};

}  // namespace

bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away) {
    return Mender(flat, lives, least_copy, away).mend(budget);
}

CopyPlanner::CopyPlanner(const Problem& problem, Bytes budget, const CopyPlannerOptions& options)
    : problem_(problem),
      budget_(budget.value),
      options_(options),
      may_leave_(problem.graph, problem.copies) {}

Lifetimes CopyPlanner::lifetimes(const std::vector<PlacedRun>& runs) const {
    return {problem_.graph, problem_.flat, runs, may_leave_};
}

/// Writes the steps and simulates them. Returns nullopt if the simulator refuses the steps or if they exceed
/// a budget.
std::optional<CopyingPlan> CopyPlanner::emitted(const Lifetimes& lives, std::vector<char> away) const {
    if (problem_.copies.in_training) let_changed_live_on_host(lives, away);
    EmissionLimits limits{.links = problem_.copies.links, .budget = budget_};
    if (problem_.copies.host_budget) limits.host_budget = problem_.copies.host_budget->value;
    std::optional<Emitted> best;
    for (const bool eager : {true, false}) {
        limits.eager = eager;
        Emitted steps = copying_steps(problem_.graph, problem_.flat, lives, away, limits);
        if (steps.fits && (!best || steps.time < best->time)) best = std::move(steps);
    }
    if (!best) return std::nullopt;
    const Result<Simulation> played =
        simulate(problem_.graph, best->steps, best->homes, problem_.copies.links);
    if (!played || played->peak.value > budget_) return std::nullopt;
    if (problem_.copies.host_budget && played->host_peak > *problem_.copies.host_budget) return std::nullopt;
    return CopyingPlan{.runs = lives.runs(),
                       .away = std::move(away),
                       .steps = std::move(best->steps),
                       .homes = std::move(best->homes),
                       .time = played->time.value,
                       .peak = played->peak.value};
}

void CopyPlanner::offer(const Lifetimes& lives, std::vector<char> away,
                        std::optional<CopyingPlan>& best) const {
    if (!mend(problem_.flat, lives, budget_, options_.least_copy, away)) return;
    if (best && best->away == away) return;
    std::optional<CopyingPlan> plan = emitted(lives, std::move(away));
    if (plan && (!best || plan->time < best->time)) best = std::move(plan);
}

std::optional<CopyingPlan> CopyPlanner::without_copies(const std::vector<PlacedRun>& runs) const {
    const Lifetimes lives = lifetimes(runs);
    std::vector<char> none = lives.least_away();
    const std::vector<std::int64_t> memory = lives.memory(none);
    if (*std::max_element(memory.begin(), memory.end()) > budget_) return std::nullopt;
    return emitted(lives, std::move(none));
}

std::optional<CopyingPlan> CopyPlanner::by_weight(const std::vector<PlacedRun>& runs) const {
    const Lifetimes lives = lifetimes(runs);
    std::optional<CopyingPlan> best;
    offer(lives, lives.least_away(), best);
    return best;
}

std::optional<CopyingPlan> CopyPlanner::by_programme(const std::vector<PlacedRun>& runs,
                                                     const Deadline& deadline, int numbers) const {
    const Lifetimes lives = lifetimes(runs);
    std::optional<CopyingPlan> best;
    offer(lives, lives.least_away(), best);
    for (const int stages : std::span(kStages).first(static_cast<std::size_t>(numbers))) {
        if (deadline.passed() || milp_libraries().empty()) break;
        AwayLimits limits{.links = problem_.copies.links,
                          .budget = budget_,
                          .least_copy = options_.least_copy,
                          .most_stages = stages,
                          .price = options_.price};
        if (problem_.copies.host_budget) limits.host_budget = problem_.copies.host_budget->value;
        const auto programme = std::make_shared<const AwayProgramme>(problem_.flat, lives, limits);
        run_programme(
            std::shared_ptr<const MilpModel>(programme, &programme->milp()), {}, options_.programme, deadline,
            [&](std::span<const double> values) { offer(lives, programme->rounded(values), best); });
        if (stages >= lives.run_count()) break;
    }
    return best;
}

bool CopyPlanner::improve(CopyingPlan& plan, int trials, std::uint64_t seed, const Deadline& deadline) const {
    const Lifetimes lives = lifetimes(plan.runs);
    annealing::Random random(seed);
    std::vector<std::int32_t> movable;
    for (std::size_t g = 0; g < lives.gaps.size(); ++g) {
        const Gap& gap = lives.gaps[g];
        if (gap.movable && !gap.forced && problem_.flat.bytes[gap.tensor] >= options_.least_copy)
            movable.push_back(static_cast<std::int32_t>(g));
    }
    const std::int64_t before = plan.time;
    std::int64_t bytes = bytes_away(problem_.flat, lives, plan.away);
    for (int trial = 0; trial < trials && !movable.empty() && !deadline.passed(); ++trial) {
        std::vector<char> away = plan.away;
        const std::int32_t g = movable[random.below(movable.size())];
        const Gap& gap = lives.gaps[g];
        const char now = !away[g];
        away[g] = now;
        if (lives.is_resident(gap.tensor) &&
            (g == lives.first_gap(gap.tensor) || g == lives.last_gap(gap.tensor)))
            away[lives.first_gap(gap.tensor)] = away[lives.last_gap(gap.tensor)] = now;
        if (!mend(problem_.flat, lives, budget_, options_.least_copy, away) || away == plan.away) continue;
        std::optional<CopyingPlan> other = emitted(lives, std::move(away));
        if (!other || other->time > plan.time) continue;
        const std::int64_t others = bytes_away(problem_.flat, lives, other->away);
        if (other->time == plan.time && others > bytes) continue;
        bytes = others;
        plan = *std::move(other);
    }
    return plan.time < before;
}

std::int64_t CopyPlanner::least_budget(const std::vector<PlacedRun>& runs) const {
    const Lifetimes lives = lifetimes(runs);
    std::vector<char> away = lives.least_away();
    for (std::size_t g = 0; g < away.size(); ++g) away[g] = away[g] || lives.gaps[g].movable;
    for (std::size_t t = 0; t < problem_.flat.bytes.size(); ++t) {
        if (!lives.is_resident(static_cast<int>(t))) continue;
        const std::int32_t first = lives.first_gap(static_cast<int>(t)),
                           last = lives.last_gap(static_cast<int>(t));
        away[first] = away[last] = away[first] && away[last];
    }
    const std::vector<std::int64_t> memory = lives.memory(away);
    return *std::max_element(memory.begin(), memory.end());
}

}  // namespace rematlas::offmate
