#include "core/solving/early_collectives.h"

#include <algorithm>
#include <limits>

#include "core/schedule/homes.h"
#include "core/schedule/simulate.h"
#include "core/solving/step_uses.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostAlong = 8;  ///< the most steps that move together, the collective included
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// One step, with its effect on memory and on the time of compute.
struct Item {
    Step step;
    StepUses uses;
    std::int64_t rise = 0;   ///< peak while the step runs, minus bytes held before it
    std::int64_t delta = 0;  ///< bytes held after the step, minus bytes held before it
    std::int64_t time = 0;   ///< compute time, ns; 0 for collectives
};

class Mover {
  public:
    Mover(const MovedSteps& moved, const std::vector<Step>& steps, const Simulation& played)
        : graph_(moved.graph),
          budget_(moved.budget.value),
          queues_(queues_of(moved.graph)),
          next_(queues_.names.size(), kNever) {
        std::int64_t before = residents_on_device(graph_, moved.homes).value;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const StepTrace& trace = played.steps[i];
            Item item{steps[i], StepUses::of(graph_, steps[i])};
            item.rise = trace.during.value - before;
            item.delta = trace.after.value - before;
            if (steps[i].runs()) {
                const std::int64_t time = graph_.ops[steps[i].op()].time.value;
                if (queues_.of[steps[i].op()] < 0)
                    item.time = time;
                else
                    longest_ = std::max(longest_, time);
            }
            items_.push_back(std::move(item));
            held_.push_back(before);
            clock_.push_back(passed_);
            passed_ += items_.back().time;
            before = trace.after.value;
        }
    }

    std::vector<Step> run() {
        for (std::size_t at = items_.size(); at-- > 0;) {
            if (!is_collective(at)) continue;
            std::int64_t& next = next_[static_cast<std::size_t>(queues_.of[items_[at].step.op()])];
            const std::int64_t latest = std::min(read_at(at), next) - duration(at);
            const std::size_t before = first_that_can_wait(at, latest);
            const std::size_t to = latest < clock_[at] || before < at ? move(at, latest, before) : at;
            next = std::max(latest, clock_[to]);
        }
        std::vector<Step> steps;
        for (const Item& item : items_) steps.push_back(item.step);
        return steps;
    }

  private:
    /// Returns the clock, in ns of compute, at the first op that reads the collective's outputs; if no op
    /// reads them, at the end.
    std::int64_t read_at(std::size_t at) const {
        const std::vector<TensorId>& made = graph_.ops[items_[at].step.op()].outputs;
        for (std::size_t i = at + 1; i < items_.size(); ++i) {
            const auto& reads = items_[i].uses.reads;
            if (std::find_first_of(reads.begin(), reads.end(), made.begin(), made.end()) != reads.end())
                return clock_[i];
        }
        return passed_;
    }

    std::int64_t duration(std::size_t at) const { return graph_.ops[items_[at].step.op()].time.value; }

    /// Looks for collectives that the collective at `at` should overtake. They are earlier in the same queue,
    /// would still run at the time `latest`, and their results are read later than its result. Returns the
    /// place of the first of them, or `at` if there is none.
    std::size_t first_that_can_wait(std::size_t at, std::int64_t latest) const {
        const int queue = queues_.of[items_[at].step.op()];
        const std::int64_t read = read_at(at);
        std::size_t found = at;
        for (std::size_t i = at; i-- > 0 && clock_[i] + longest_ > latest;) {
            if (!is_collective(i) || queues_.of[items_[i].step.op()] != queue) continue;
            if (clock_[i] + duration(i) > latest && read_at(i) > read) found = i;
        }
        return found;
    }

    /// Moves the collective at `at` to an earlier place: not after the place `before`, and with a clock of at
    /// most `latest`. Stops before it gets there if the budget or a dependency requires this. Returns the new
    /// place.
    std::size_t move(std::size_t at, std::int64_t latest, std::size_t before) {
        const std::int64_t most_time = duration(at) / 2;
        std::vector<std::size_t> along{at};  // descending
        std::size_t to = at;                 // the steps of `along` will be put before this place
        std::size_t best = at;
        std::vector<std::size_t> best_along;
        std::int64_t time = 0;
        while (to > 0) {
            if (clock_[to] <= latest && to <= before) break;
            const std::size_t other = to - 1;
            const bool depends = std::any_of(along.begin(), along.end(), [&](std::size_t i) {
                return items_[i].uses.conflicts_with(items_[other].uses);
            });
            if (depends) {
                time += items_[other].time;
                if (along.size() == kMostAlong || time > most_time || is_collective(other)) break;
                along.push_back(other);
                to = other;
                continue;
            }
            const auto [rise, delta] = effect(along);
            if (held_[other] + rise > budget_ || held_[other] + delta + items_[other].rise > budget_) break;
            to = other;
            best = to;
            best_along = along;
        }
        return best == at ? at : rearrange(best, at, best_along);
    }

    bool is_collective(std::size_t at) const {
        return items_[at].step.runs() && queues_.of[items_[at].step.op()] >= 0;
    }

    /// Returns two effects, in bytes, of running the steps of `along` one after another: their peak above the
    /// bytes held before them, and the bytes that they add in total. `along` is in descending order.
    std::pair<std::int64_t, std::int64_t> effect(const std::vector<std::size_t>& along) const {
        std::int64_t rise = 0, delta = 0;
        for (auto i = along.rbegin(); i != along.rend(); ++i) {
            rise = std::max(rise, delta + items_[*i].rise);
            delta += items_[*i].delta;
        }
        return {rise, delta};
    }

    /// Puts the steps of `along` before the step at `to`. The latest step of `along` is at `at`; returns its
    /// new place.
    std::size_t rearrange(std::size_t to, std::size_t at, const std::vector<std::size_t>& along) {
        std::vector<Item> order;
        for (auto i = along.rbegin(); i != along.rend(); ++i) order.push_back(items_[*i]);
        const std::size_t place = to + order.size() - 1;
        for (std::size_t i = to; i <= at; ++i)
            if (std::find(along.begin(), along.end(), i) == along.end()) order.push_back(items_[i]);
        std::int64_t held = held_[to], clock = clock_[to];
        for (std::size_t i = 0; i < order.size(); ++i) {
            held_[to + i] = held;
            clock_[to + i] = clock;
            held += order[i].delta;
            clock += order[i].time;
            items_[to + i] = std::move(order[i]);
        }
        return place;
    }

    const Graph& graph_;
    const std::int64_t budget_;
    const Queues queues_;
    std::vector<Item> items_;
    std::vector<std::int64_t> held_, clock_;  ///< before each step: bytes held, and ns of compute
    std::vector<std::int64_t> next_;          ///< by queue: ns of compute at which the next collective begins
    std::int64_t passed_ = 0;                 ///< ns of compute of all steps
    std::int64_t longest_ = 0;                ///< ns of the longest collective
};

}  // namespace

std::vector<Step> with_early_collectives(const MovedSteps& moved, std::vector<Step> steps) {
    const Result<Simulation> played = simulate(moved.graph, steps, moved.homes, moved.links);
    if (!played) return steps;
    return Mover(moved, steps, *played).run();
}

}  // namespace rematlas
