#include "core/solving/late_waits.h"

#include <algorithm>

#include "core/schedule/homes.h"
#include "core/schedule/simulate.h"
#include "core/solving/step_uses.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostWaiting = 32;  ///< the most steps that wait while later steps run first

/// Builds the new order step by step, with its own clock, which ignores copies to the host.
class Reordering {
  public:
    Reordering(const MovedSteps& moved, const std::vector<Step>& steps, const Simulation& played)
        : graph_(moved.graph),
          budget_(moved.budget.value),
          steps_(steps),
          played_(played),
          queues_(queues_of(moved.graph)),
          queue_end_(queues_.names.size(), 0),
          made_at_(moved.graph.tensors.size(), 0),
          read_until_(moved.graph.tensors.size(), 0),
          held_(residents_on_device(moved.graph, moved.homes).value) {
        std::int64_t before = held_;
        for (const StepTrace& trace : played.steps) {
            before_.push_back(before);
            before = trace.after.value;
        }
    }

    std::vector<Step> run() {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const StepUses uses = StepUses::of(graph_, steps_[i]);
            if (must_wait(uses) && waiting_.size() < kMostWaiting) {
                waiting_.push_back({i, uses});
                continue;
            }
            while (!waiting_.empty() && (depends(uses, waiting_.size()) || !has_room(i))) go_first();
            if (must_wait(uses) && waiting_.size() < kMostWaiting) {
                waiting_.push_back({i, uses});
                continue;
            }
            go(i, uses);
            let_go();
        }
        while (!waiting_.empty()) go_first();
        return std::move(order_);
    }

  private:
    struct Waiting {
        std::size_t index;
        StepUses uses;
    };

    std::int64_t rise(std::size_t i) const { return played_.steps[i].during.value - before_[i]; }
    std::int64_t delta(std::size_t i) const { return played_.steps[i].after.value - before_[i]; }

    bool must_wait(const StepUses& uses) const {
        return ready_at(uses) > clock_ || depends(uses, waiting_.size());
    }

    /// Returns the time at which the collectives that the step waits for are over.
    std::int64_t ready_at(const StepUses& uses) const {
        std::int64_t time = 0;
        for (TensorId t : uses.reads) time = std::max(time, made_at_[t]);
        for (TensorId t : uses.changes) time = std::max({time, made_at_[t], read_until_[t]});
        return time;
    }

    /// Says whether the step must come after one of the first `count` waiting steps.
    bool depends(const StepUses& uses, std::size_t count) const {
        return std::any_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count),
                           [&](const Waiting& other) { return other.uses.conflicts_with(uses); });
    }

    /// Says whether the budget allows to run the waiting step `first` now and then all other waiting steps.
    bool has_room(std::size_t first) const {
        if (held_ + rise(first) > budget_) return false;
        std::int64_t held = held_ + delta(first);
        for (const Waiting& other : waiting_) {
            if (other.index == first) continue;
            if (held + rise(other.index) > budget_) return false;
            held += delta(other.index);
        }
        return true;
    }

    void go(std::size_t i, const StepUses& uses) {
        const Step& step = steps_[i];
        clock_ = std::max(clock_, ready_at(uses));
        order_.push_back(step);
        held_ += delta(i);
        if (!step.runs()) return;
        const Op& op = graph_.ops[step.op()];
        const int queue = queues_.of[step.op()];
        if (queue < 0) {
            clock_ += op.time.value;
            return;
        }
        std::int64_t& end = queue_end_[static_cast<std::size_t>(queue)];
        end = std::max(end, clock_) + op.time.value;
        for (TensorId t : op.outputs) made_at_[t] = end;
        for (TensorId t : op.inputs) read_until_[t] = std::max(read_until_[t], end);
    }

    /// Appends to the order all waiting steps that need not wait any longer.
    void let_go() {
        for (std::size_t k = 0; k < waiting_.size();) {
            const Waiting& next = waiting_[k];
            if (ready_at(next.uses) > clock_ || depends(next.uses, k) || !has_room(next.index)) {
                ++k;
                continue;
            }
            const Waiting gone = next;
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(k));
            go(gone.index, gone.uses);
        }
    }

    /// Appends one waiting step to the order, then calls `let_go`. Of the waiting steps that depend on no
    /// earlier waiting step and fit the budget, takes the step that is ready first. If there is no such step,
    /// takes the step that has waited longest.
    void go_first() {
        std::size_t first = 0;
        bool has_any = false;
        for (std::size_t k = 0; k < waiting_.size(); ++k) {
            const Waiting& next = waiting_[k];
            if (depends(next.uses, k) || !has_room(next.index)) continue;
            if (has_any && ready_at(next.uses) >= ready_at(waiting_[first].uses)) continue;
            first = k;
            has_any = true;
        }
        const Waiting gone = waiting_[first];
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(first));
        go(gone.index, gone.uses);
        let_go();
    }

    const Graph& graph_;
    const std::int64_t budget_;
    const std::vector<Step>& steps_;
    const Simulation& played_;
    const Queues queues_;
    std::vector<std::int64_t> queue_end_;
    /// By tensor: the end of the collective that makes it, and of the last collective that reads it.
    IdVector<TensorId, std::int64_t> made_at_, read_until_;
    std::vector<std::int64_t> before_;  ///< bytes held before each of `steps_`
    std::int64_t held_;
    std::int64_t clock_ = 0;
    std::vector<Waiting> waiting_;
    std::vector<Step> order_;
};

}  // namespace

std::vector<Step> with_late_waits(const MovedSteps& moved, std::vector<Step> steps) {
    const Result<Simulation> played = simulate(moved.graph, steps, moved.homes, moved.links);
    if (!played) return steps;
    return Reordering(moved, steps, *played).run();
}

}  // namespace rematlas
