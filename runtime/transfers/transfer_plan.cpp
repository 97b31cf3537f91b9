#include "runtime/transfers/transfer_plan.h"

#include <algorithm>
#include <array>

#include "core/schedule/homes.h"
#include "runtime/transfers/host_layout.h"

namespace rematlas {
namespace {

/// Finds the necessary waits with vector clocks. A position says how far a queue has come. For compute, it is
/// the number of steps done in all repetitions: before step i of a repetition that begins at `base_`, the
/// position is base_ + i. For any other queue, it is the number of pieces of work that the queue was given.
class Scheduler {
  public:
    Scheduler(const Graph& graph, const Homes& homes, TransferPlan& plan,
              std::span<const TransferPause> pauses)
        : graph_(graph),
          plan_(plan),
          pauses_(pauses),
          left_(plan.places.size(), 0),
          resident_(graph.tensors.size(), 0),
          goes_on_(graph.tensors.size(), 0),
          state_(graph.tensors.size()),
          ran_(graph.ops.size(), 0) {
        for (auto& clock : known_) clock.fill(-1);
        const IdVector<TensorId, OpId> producer = producers(graph);
        for (TensorId t : graph.tensors.ids()) resident_[t] = !producer[t].valid();
        for (TensorId t : homes.on_host) goes_on_[t] = homes.cyclic && resident_[t];
    }

    /// Goes through one more repetition, and writes its orders.
    void play(QueueOrders& to) {
        to = {};
        orders_ = &to;
        std::fill(ran_.begin(), ran_.end(), 0);
        for (TensorId t : graph_.tensors.ids())
            if (!resident_[t]) state_[t] = {};
        std::size_t leaving = 0;
        last_work_ = base_;
        for (at_ = 0; at_ < plan_.steps.size(); ++at_) {
            advance(base_ + at());
            pause();
            give(plan_.steps[at_]);
            for (; leaving < plan_.leaving.size() && plan_.leaving[leaving].first == at(); ++leaving)
                left_[plan_.leaving[leaving].second] = done();
            end_list();
        }
        advance(base_ + at());
        end();
        end_list();
        base_ += at() + 1;
        ++repetition_;
    }

  private:
    using Clock = std::array<std::int64_t, copy_queue_count>;
    /// A copy, or an op on the host.
    struct Work {
        CopyQueue queue;
        std::int64_t number;
        Clock known;  ///< per queue: the position that it has reached once this work is done
        std::int32_t step;
        int repetition;
        QueueOrders* orders;
        std::size_t place;
    };
    struct State {
        int to_host = -1, to_device = -1;  ///< indices of the last copies; -1 if there is none
        int on_host = -1,
            changed_there = -1;    ///< indices of the last op on the host that uses the tensor, and of the
                                   ///< last op on the host that updates or makes it; -1 if there is none
        std::int64_t written = 0;  ///< position at which compute last wrote the tensor on the device
    };

    std::int32_t at() const { return static_cast<std::int32_t>(at_); }
    std::int64_t done() const { return base_ + at() + 1; }  ///< position when this step is done
    static std::size_t index(CopyQueue queue) { return static_cast<std::size_t>(queue); }
    Clock& known(CopyQueue queue) { return known_[index(queue)]; }
    std::int64_t& compute_of(Clock& clock) { return clock[index(CopyQueue::compute)]; }
    void advance(std::int64_t position) { compute_of(known(CopyQueue::compute)) = position; }
    static void join(Clock& clock, const Clock& other) {
        for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
    }

    void pause() {
        for (; next_pause_ < pauses_.size() && pauses_[next_pause_].before == at_; ++next_pause_) {
            QueueOrders* const outer = std::exchange(orders_, &plan_.pauses);
            wait_for_copies(pauses_[next_pause_].of, false);
            end_list();
            orders_ = outer;
            plan_.paused_before.push_back(at_);
            for (TensorId t : pauses_[next_pause_].of) state_[t].written = base_ + at();
        }
    }

    void give(const Step& step) {
        if (step.runs()) return run(graph_.ops[step.op()], step);
        if (step.kind == StepKind::run_host) return run_on_host(graph_.ops[step.op()]);
        const TensorId t = step.tensor();
        State& state = state_[t];
        switch (step.kind) {
            case StepKind::free:
                last_work_ = done();
                return wait_for_copies(std::array{t}, false);
            case StepKind::drop:
                return wait_for_copies(std::array{t}, true);
            case StepKind::offload:
                after(CopyQueue::out, {state.to_device, state.on_host},
                      std::max(state.written, place_is_free()));
                state.to_host = add(CopyQueue::out, QueueOrder::Kind::copy);
                return;
            case StepKind::fetch:
                // The fetch also waits until compute reaches `last_work_`, because the allocator may hand out
                // memory that earlier work used.
                after(CopyQueue::in, {state.to_host, state.changed_there}, last_work_);
                state.to_device = add(CopyQueue::in, QueueOrder::Kind::copy);
                return;
            default:
                return;
        }
    }

    void run(const Op& op, const Step& step) {
        std::vector<int> works;
        const auto needs = [&](TensorId t) { works.push_back(state_[t].to_device); };
        const auto writes = [&](TensorId t) { needs(t), works.push_back(state_[t].to_host); };
        const bool first = !ran_[step.op()];
        ran_[step.op()] = true;
        for (TensorId t : op.inputs) needs(t);
        for (TensorId t : op.outputs) writes(t);
        if (first)
            for (TensorId t : op.mutates) writes(t), works.push_back(state_[t].on_host);
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace) writes(pair.in);
        after(CopyQueue::compute, works);
        last_work_ = done();
        for (TensorId t : op.outputs) state_[t].written = last_work_;
        if (first)
            for (TensorId t : op.mutates) state_[t].written = last_work_;
    }

    /// In the first repetition, the op waits until compute reaches the repetition's start: before that, the
    /// caller's work may use the residents whose home is on the host.
    void run_on_host(const Op& op) {
        std::vector<int> first;
        for (TensorId t : op.inputs) first.push_back(state_[t].to_host);
        for (TensorId t : op.mutates) first.insert(first.end(), {state_[t].to_host, state_[t].to_device});
        std::int64_t moment = repetition_ == 0 ? base_ : -1;
        for (std::size_t i = 0; i < plan_.places.size(); ++i)
            if (plan_.places[i].taken == at()) moment = std::max(moment, is_free(plan_.places[i]));
        after(CopyQueue::host, first, moment);
        const int mine = add(CopyQueue::host, QueueOrder::Kind::run);
        for (const auto* list : {&op.inputs, &op.mutates, &op.outputs})
            for (TensorId t : *list) state_[t].on_host = mine;
        for (const auto* list : {&op.mutates, &op.outputs})
            for (TensorId t : *list) state_[t].changed_there = mine;
    }

    /// Returns the position from which the copy's place on the host is free.
    std::int64_t place_is_free() const {
        return is_free(plan_.places[static_cast<std::size_t>(plan_.place[at_])]);
    }
    std::int64_t is_free(const HostPlace& mine) const {
        std::int64_t moment = 0;
        for (std::size_t i = 0; i < plan_.places.size(); ++i) {
            const HostPlace& other = plan_.places[i];
            if ((other.taken < 0) == (mine.taken < 0) && other.offset < mine.offset + mine.bytes &&
                mine.offset < other.offset + other.bytes)
                moment = std::max(moment, left_[i]);
        }
        return moment;
    }

    template <class Tensors>
    void wait_for_copies(const Tensors& tensors, bool ops_too) {
        std::vector<int> works;
        for (TensorId t : tensors)
            works.insert(works.end(),
                         {state_[t].to_device, state_[t].to_host, ops_too ? state_[t].on_host : -1});
        after(CopyQueue::compute, works);
    }

    void end() {
        std::vector<int> works;
        for (TensorId t : graph_.tensors.ids()) {
            works.push_back(state_[t].on_host);
            if (!goes_on_[t]) works.insert(works.end(), {state_[t].to_device, state_[t].to_host});
        }
        after(CopyQueue::compute, works);
        for (std::size_t i = 0; i < plan_.places.size(); ++i)
            if (plan_.places[i].taken >= 0 && plan_.places[i].left == at()) left_[i] = done();
    }

    /// Makes the queue's next work begin when `works` are done and compute has reached the position `moment`.
    /// Of the `works` of one other queue, only the last is waited for, because a queue does its work in
    /// order. A wait that another wait implies is left out.
    void after(CopyQueue queue, const std::vector<int>& works, std::int64_t moment = -1) {
        std::array<int, copy_queue_count> last;
        last.fill(-1);
        for (int number : works) {
            if (number < 0) continue;
            int& latest = last[index(work(number).queue)];
            latest = std::max(latest, number);
        }
        if (std::none_of(last.begin(), last.end(), [&](int one) { return says(one, moment); }))
            after_compute(queue, moment);
        for (int one : last) {
            const bool follows = one >= 0 && std::any_of(last.begin(), last.end(), [&](int other) {
                                     return other >= 0 && other != one && says(other, work(one));
                                 });
            if (!follows) after_work(queue, one);
        }
        for (int one : last) after_work(queue, one);
        after_compute(queue, moment);
    }
    Work& work(int number) { return works_[static_cast<std::size_t>(number)]; }
    bool says(int one, std::int64_t moment) { return one >= 0 && compute_of(work(one).known) >= moment; }
    bool says(int one, const Work& other) { return work(one).known[index(other.queue)] >= other.number; }

    void after_work(CopyQueue queue, int number) {
        if (number < 0) return;
        Work& awaited = work(number);
        if (queue == awaited.queue || known(queue)[index(awaited.queue)] >= awaited.number) return;
        awaited.orders->orders[awaited.place].marked = true;
        orders_->orders.push_back({.kind = QueueOrder::Kind::wait_for_work,
                                   .queue = queue,
                                   .step = awaited.step,
                                   .last_time = awaited.repetition != repetition_});
        join(known(queue), awaited.known);
    }

    void after_compute(CopyQueue queue, std::int64_t moment) {
        if (compute_of(known(queue)) >= moment) return;
        orders_->orders.push_back({.kind = QueueOrder::Kind::wait_for_compute, .queue = queue});
        join(known(queue), known(CopyQueue::compute));
    }

    int add(CopyQueue queue, QueueOrder::Kind kind) {
        orders_->orders.push_back({.kind = kind, .queue = queue, .step = at()});
        const std::int64_t number = ++known(queue)[index(queue)];
        works_.push_back(
            {queue, number, known(queue), at(), repetition_, orders_, orders_->orders.size() - 1});
        return static_cast<int>(works_.size()) - 1;
    }
    void end_list() { orders_->begin.push_back(static_cast<std::uint32_t>(orders_->orders.size())); }

    const Graph& graph_;
    TransferPlan& plan_;
    std::span<const TransferPause> pauses_;  ///< in the order of steps
    std::size_t next_pause_ = 0;
    std::vector<std::int64_t> left_;  ///< by place: position at which it last became free
    IdVector<TensorId, std::uint8_t> resident_;
    IdVector<TensorId, std::uint8_t> goes_on_;  ///< whether the tensor's copies may go on in the next
                                                ///< repetition
    IdVector<TensorId, State> state_;
    IdVector<OpId, std::uint8_t> ran_;
    /// By queue: the position that each queue is known to have reached when this queue's next work begins.
    std::array<Clock, copy_queue_count> known_;
    std::vector<Work> works_;
    QueueOrders* orders_ = nullptr;
    std::int64_t base_ = 0;
    std::int64_t last_work_ = 0;  ///< position in the compute queue after the last work whose memory may be
                                  ///< handed out again
    std::size_t at_ = 0;
    int repetition_ = 0;
};

/// Says whether the orders are equal apart from their marks.
bool alike(QueueOrders a, QueueOrders b) {
    for (QueueOrders* one : {&a, &b})
        for (QueueOrder& order : one->orders) order.marked = false;
    return a == b;
}

}  // namespace

const HostRun& TransferPlan::host_run(std::size_t step) const {
    return *std::lower_bound(host_runs.begin(), host_runs.end(), static_cast<std::int32_t>(step),
                             [](const HostRun& run, std::int32_t at) { return run.step < at; });
}

Result<TransferPlan> TransferPlan::make(const Graph& graph, std::span<const Step> steps, const Homes& homes,
                                        std::span<const TransferPause> pauses) {
    if (Result<void> sound = sound_homes(graph, homes); !sound) return sound.error();
    TransferPlan plan{.steps = {steps.begin(), steps.end()}};
    if (Result<void> done = lay_out_host(graph, homes, plan); !done) return done.error();
    Scheduler scheduler(graph, homes, plan, pauses);
    scheduler.play(plan.first);
    if (!homes.cyclic) return plan;
    QueueOrders again;
    scheduler.play(plan.steady);
    scheduler.play(again);
    if (!alike(plan.steady, again))
        return Error{"the copies under way at the end are not those at the end of the next step"};
    return plan;
}

}  // namespace rematlas
