#include "core/solving/beside_compute.h"

#include <algorithm>
#include <map>
#include <random>

#include "core/schedule/simulate.h"
#include "core/schedule/waits.h"
#include "core/solving/early_collectives.h"
#include "core/solving/late_waits.h"
#include "core/solving/step_uses.h"

namespace rematlas {
namespace {

constexpr int kMostPasses = 6;
constexpr std::size_t kMostStepsToTry = 400;  ///< `try_moves` does nothing if there are more steps
constexpr int kMostTries = 3000;
constexpr std::size_t kFurthestTry = 24;  ///< the most places by which a random move moves a step

/// The best order so far.
class Best {
  public:
    Best(const MovedSteps& moved, std::vector<Step> steps) : moved_(moved), steps_(std::move(steps)) {
        if (const Result<Simulation> played = simulate(moved.graph, steps_, moved.homes, moved.links)) {
            time_ = played->time;
            is_possible_ = true;
        }
    }

    bool is_possible() const { return is_possible_; }
    Nanoseconds time() const { return time_; }
    const std::vector<Step>& steps() const { return steps_; }
    std::vector<Step> take() { return std::move(steps_); }

    /// Takes the order if it can be simulated, keeps the budgets and is not slower. Returns whether it is
    /// faster.
    bool offer(std::vector<Step> steps) {
        const Result<Simulation> played = simulate(moved_.graph, steps, moved_.homes, moved_.links);
        if (!played || played->peak > moved_.budget || played->time > time_) return false;
        if (moved_.host_budget && played->host_peak > *moved_.host_budget) return false;
        const bool is_faster = played->time < time_;
        time_ = played->time;
        steps_ = std::move(steps);
        return is_faster;
    }

  private:
    const MovedSteps& moved_;
    std::vector<Step> steps_;
    Nanoseconds time_;
    bool is_possible_ = false;
};

/// Returns the steps with step `from` moved to place `to`. A step in between moves, too, if it must keep its
/// order with a step that moves.
std::vector<Step> with_move(const Graph& graph, const std::vector<Step>& steps, std::size_t from,
                            std::size_t to) {
    const bool is_earlier = to < from;
    std::vector<StepUses> moving{StepUses::of(graph, steps[from])};
    std::vector<Step> group{steps[from]}, passed;
    const std::size_t count = is_earlier ? from - to : to - from;
    for (std::size_t i = 1; i <= count; ++i) {
        const Step& step = steps[is_earlier ? from - i : from + i];
        StepUses uses = StepUses::of(graph, step);
        const bool goes_along = std::any_of(moving.begin(), moving.end(),
                                            [&](const StepUses& of) { return of.conflicts_with(uses); });
        (goes_along ? group : passed).push_back(step);
        if (goes_along) moving.push_back(std::move(uses));
    }
    std::vector<Step> order = steps;
    auto place = order.begin() + static_cast<std::ptrdiff_t>(std::min(from, to));
    if (is_earlier) {
        std::reverse(group.begin(), group.end());
        std::reverse(passed.begin(), passed.end());
        place = std::copy(group.begin(), group.end(), place);
        std::copy(passed.begin(), passed.end(), place);
    } else {
        place = std::copy(passed.begin(), passed.end(), place);
        std::copy(group.begin(), group.end(), place);
    }
    return order;
}

/// Proposes moves of steps that may shorten a wait of compute for a collective.
class WaitMoves {
  public:
    WaitMoves(const Graph& graph, const std::vector<Step>& steps, const Simulation& played)
        : graph_(graph), steps_(steps), played_(played), queues_(queues_of(graph)) {
        for (const SideTrace& beside : played.beside)
            if (beside.queue == SideQueue::collective) traces_.emplace(beside.step, &beside);
    }

    /// Returns orders that may shorten the wait. Returns none if the wait is not for a collective.
    std::vector<std::vector<Step>> of(const Wait& wait) const {
        std::vector<std::vector<Step>> orders;
        if (wait.for_step < 0) return orders;
        const auto awaited = static_cast<std::size_t>(wait.for_step);
        const auto trace = traces_.find(awaited);
        if (trace == traces_.end()) return orders;
        if (const auto other = one_before(awaited)) {
            orders.push_back(with_move(graph_, steps_, awaited, *other));
            orders.push_back(with_move(graph_, steps_, *other, awaited));
        }
        const Nanoseconds earlier = trace->second->start - (wait.end - wait.start);
        std::size_t to = awaited;
        while (to > 0 && played_.steps[to].start > earlier) --to;
        if (to < awaited) orders.push_back(with_move(graph_, steps_, awaited, to));
        const auto waiting = static_cast<std::size_t>(wait.step);
        std::size_t later = waiting;
        while (later + 1 < steps_.size() && played_.steps[later].start < wait.end + (wait.end - wait.start))
            ++later;
        if (!steps_[waiting].runs() && later > waiting)
            orders.push_back(with_move(graph_, steps_, waiting, later));
        return orders;
    }

  private:
    /// If the collective at `step` must wait for the previous collective in the same queue, returns the step
    /// of the latter.
    std::optional<std::size_t> one_before(std::size_t step) const {
        const int queue = queues_.of[steps_[step].op()];
        for (auto at = traces_.find(step); at != traces_.begin();) {
            --at;
            if (queues_.of[steps_[at->first].op()] != queue) continue;
            if (at->second->end > played_.steps[step].start) return at->first;
            return std::nullopt;
        }
        return std::nullopt;
    }

    const Graph& graph_;
    const std::vector<Step>& steps_;
    const Simulation& played_;
    const Queues queues_;
    std::map<std::size_t, const SideTrace*> traces_;  ///< by step
};

/// Tries moves that shorten waits, beginning with the longest wait, until no move helps.
void shorten_waits(const MovedSteps& moved, Best& best, Nanoseconds least, const Deadline& deadline) {
    for (bool is_faster = true; is_faster && best.time() > least;) {
        is_faster = false;
        const std::vector<Step> steps = best.steps();
        const Result<Simulation> played = simulate(moved.graph, steps, moved.homes, moved.links);
        if (!played) return;
        std::vector<Wait> waits = waits_of(steps, *played);
        std::stable_sort(waits.begin(), waits.end(),
                         [](const Wait& a, const Wait& b) { return a.end - a.start > b.end - b.start; });
        const WaitMoves moves(moved.graph, steps, *played);
        for (const Wait& wait : waits) {
            for (std::vector<Step>& order : moves.of(wait)) {
                if (deadline.passed()) return;
                is_faster = best.offer(order) || is_faster;
                is_faster = best.offer(with_late_waits(moved, std::move(order))) || is_faster;
            }
            if (is_faster) break;
        }
    }
}

/// Tries random moves of single steps.
void try_moves(const MovedSteps& moved, Best& best, Nanoseconds least, const Limits& limits,
               const Deadline& deadline) {
    const std::size_t count = best.steps().size();
    if (count > kMostStepsToTry || count < 2) return;
    std::mt19937_64 random(limits.seed);
    for (int i = 0; i < kMostTries && best.time() > least && !deadline.passed(); ++i) {
        const std::size_t from = random() % count, reach = 1 + random() % kFurthestTry;
        const bool is_earlier = random() % 2 == 0;
        const std::size_t to = is_earlier ? from - std::min(from, reach) : std::min(count - 1, from + reach);
        if (to != from) best.offer(with_move(moved.graph, best.steps(), from, to));
    }
}

/// Returns a lower bound on the time of the steps. The times of the ops are added up for the device's compute
/// and for each queue; the bound is the largest of these sums.
Nanoseconds least_time(const Graph& graph, const std::vector<Step>& steps) {
    const Queues queues = queues_of(graph);
    std::vector<Nanoseconds> sums(queues.names.size() + 1);
    for (const Step& step : steps)
        if (step.runs())
            sums[static_cast<std::size_t>(queues.of[step.op()] + 1)] += graph.ops[step.op()].time;
    return *std::max_element(sums.begin(), sums.end());
}

}  // namespace

std::vector<Step> beside_compute(const MovedSteps& moved, std::vector<Step> steps, const Limits& limits) {
    if (queues_of(moved.graph).names.empty()) return steps;
    const Nanoseconds least = least_time(moved.graph, steps);
    const Deadline deadline(limits);
    Best best(moved, std::move(steps));
    if (!best.is_possible()) return best.take();
    for (int pass = 0; pass < kMostPasses && best.time() > least && !deadline.passed(); ++pass) {
        const bool later = best.offer(with_late_waits(moved, best.steps()));
        const bool earlier = best.offer(with_late_waits(moved, with_early_collectives(moved, best.steps())));
        if (!later && !earlier) break;
    }
    shorten_waits(moved, best, least, deadline);
    try_moves(moved, best, least, limits, deadline);
    return best.take();
}

}  // namespace rematlas
