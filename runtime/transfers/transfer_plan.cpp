#include "runtime/transfers/transfer_plan.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/addresses/request_plan.h"
#include "core/schedule/homes.h"

namespace rematlas {
namespace {

constexpr std::int64_t kAlignment = 64;  // bytes, of places in the slab

Error impossible(const Graph& graph, std::size_t at, const Step& step, const char* why) {
    return Error{"step " + std::to_string(at) + ": " + std::string(to_string(step.kind)) + " of " +
                 graph.tensors[step.tensor()].name + ", which " + why};
}

/// Where on the host each copy lies: lifetimes from the step that offloads a tensor to the one that needs its
/// bytes no longer, packed.
class HostLayout {
  public:
    HostLayout(const Graph& graph, const Homes& homes, TransferPlan& plan)
        : graph_(graph),
          plan_(plan),
          home_(graph.tensors.size(), -1),
          on_host_(graph.tensors.size(), -1),
          ran_(graph.ops.size(), 0) {
        plan_.place.assign(plan.steps.size(), -1);
        const IdVector<TensorId, OpId> producer = producers(graph);
        for (TensorId t : homes.on_host) {
            if (producer[t].valid()) continue;
            take(t, -1);
            home_[t] = on_host_[t];
        }
        at_home_ = homes.on_host;
    }

    Result<void> lay_out() {
        for (at_ = 0; at_ < plan_.steps.size(); ++at_)
            if (Result<void> done = play(plan_.steps[at_]); !done) return done;
        for (TensorId t : at_home_)
            if (on_host_[t] >= 0) plan_.places[on_host_[t]].kept = true;
        pack();
        return {};
    }

  private:
    Result<void> play(const Step& step) {
        switch (step.kind) {
            case StepKind::run:
            case StepKind::run_inplace:
                if (!ran_[step.op()])
                    for (TensorId t : graph_.ops[step.op()].mutates) leave(t);
                ran_[step.op()] = true;
                return {};
            case StepKind::free:
                return {};
            case StepKind::offload:
                if (on_host_[step.tensor()] >= 0)
                    return impossible(graph_, at_, step, "is on the host already");
                take(step.tensor(), static_cast<std::int32_t>(at_));
                plan_.place[at_] = on_host_[step.tensor()];
                return {};
            case StepKind::fetch:
                if (on_host_[step.tensor()] < 0) return impossible(graph_, at_, step, "is not on the host");
                plan_.place[at_] = on_host_[step.tensor()];
                return {};
            case StepKind::drop:
                if (on_host_[step.tensor()] < 0) return impossible(graph_, at_, step, "is not on the host");
                leave(step.tensor());
                return {};
            case StepKind::run_host:
                break;
        }
        return Error{"step " + std::to_string(at_) + ": op " + std::to_string(step.id) + " " +
                     graph_.ops[step.op()].name + " runs on the host, which the executor does not do"};
    }

    /// The room of a tensor that is at home on the host is its own for good.
    void take(TensorId t, std::int32_t step) {
        if (home_[t] >= 0) {
            on_host_[t] = home_[t];
            return;
        }
        on_host_[t] = static_cast<std::int32_t>(plan_.places.size());
        const std::int64_t bytes = graph_.tensors[t].bytes.value;
        plan_.places.push_back({t, 0, bytes, step, static_cast<std::int32_t>(plan_.steps.size())});
        requests_.push_back({.bytes = bytes, .taken = moments_++});
        held_ += graph_.tensors[t].bytes;
        plan_.host_peak = std::max(plan_.host_peak, held_);
    }
    void leave(TensorId t) {
        const std::int32_t place = on_host_[t];
        on_host_[t] = -1;
        if (place < 0 || place == home_[t]) return;
        plan_.places[place].left = static_cast<std::int32_t>(at_);
        plan_.leaving.emplace_back(static_cast<std::int32_t>(at_), place);
        requests_[place].returned = moments_++;
        held_ -= graph_.tensors[t].bytes;
    }

    /// Tensors without bytes lie anywhere.
    void pack() {
        std::vector<Request> requests;
        std::vector<std::int32_t> place_of;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i].bytes == 0) continue;
            requests.push_back(requests_[i]);
            place_of.push_back(static_cast<std::int32_t>(i));
        }
        const RequestPlan packed = plan_requests(requests, {.alignment = kAlignment});
        for (std::size_t i = 0; i < requests.size(); ++i)
            plan_.places[place_of[i]].offset = packed.offsets[i];
        plan_.slab_bytes = packed.arena;
    }

    const Graph& graph_;
    TransferPlan& plan_;
    IdVector<TensorId, std::int32_t> home_, on_host_;  ///< its place for good, and now; -1: none
    std::vector<TensorId> at_home_;
    IdVector<OpId, std::uint8_t> ran_;
    std::vector<Request> requests_;  ///< by place
    std::int32_t moments_ = 0;
    Bytes held_;
    std::size_t at_ = 0;
};

/// Who waits for what, by vector clocks. Positions of compute count steps over all repetitions: what it has
/// done before step i of a repetition that begins at `base_` is base_ + i. Positions of a link count copies.
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

    /// One repetition after those that were played before.
    void play(LaneOrders& to) {
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
    using Clock = std::array<std::int64_t, 3>;
    struct Copy {
        Lane lane;
        std::int64_t number;
        Clock known;  ///< before it and in it
        std::int32_t step;
        int repetition;
        LaneOrders* orders;
        std::size_t place;
    };
    struct State {
        int to_host = -1, to_device = -1;  ///< the last copies, by number
        std::int64_t written = 0;          ///< on the device, by compute
    };

    std::int32_t at() const { return static_cast<std::int32_t>(at_); }
    std::int64_t done() const { return base_ + at() + 1; }  ///< once this step is
    static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }
    Clock& known(Lane lane) { return known_[index(lane)]; }
    std::int64_t& compute_of(Clock& clock) { return clock[index(Lane::compute)]; }
    void advance(std::int64_t position) { compute_of(known(Lane::compute)) = position; }
    static void join(Clock& clock, const Clock& other) {
        for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
    }

    void pause() {
        for (; next_pause_ < pauses_.size() && pauses_[next_pause_].before == at_; ++next_pause_) {
            LaneOrders* const outer = std::exchange(orders_, &plan_.pauses);
            wait_for_copies(pauses_[next_pause_].of);
            end_list();
            orders_ = outer;
            plan_.paused_before.push_back(at_);
            for (TensorId t : pauses_[next_pause_].of) state_[t].written = base_ + at();
        }
    }

    void give(const Step& step) {
        if (step.runs()) return run(graph_.ops[step.op()], step);
        const TensorId t = step.tensor();
        State& state = state_[t];
        switch (step.kind) {
            case StepKind::free:
                last_work_ = done();
                [[fallthrough]];
            case StepKind::drop:
                return wait_for_copies(std::array{t});
            case StepKind::offload:
                after(Lane::out, {state.to_device}, std::max(state.written, place_is_free()));
                state.to_host = copy(Lane::out);
                return;
            case StepKind::fetch:
                after(Lane::in, {state.to_host}, last_work_);  // the allocator gives what it had before
                state.to_device = copy(Lane::in);
                return;
            default:
                return;
        }
    }

    void run(const Op& op, const Step& step) {
        std::vector<int> copies;
        const auto needs = [&](TensorId t) { copies.push_back(state_[t].to_device); };
        const auto writes = [&](TensorId t) { needs(t), copies.push_back(state_[t].to_host); };
        const bool first = !ran_[step.op()];
        ran_[step.op()] = true;
        for (TensorId t : op.inputs) needs(t);
        for (TensorId t : op.outputs) writes(t);
        if (first)
            for (TensorId t : op.mutates) writes(t);
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace) writes(pair.in);
        after(Lane::compute, copies);
        last_work_ = done();
        for (TensorId t : op.outputs) state_[t].written = last_work_;
        if (first)
            for (TensorId t : op.mutates) state_[t].written = last_work_;
    }

    /// The moment from which the copy's place on the host is free.
    std::int64_t place_is_free() const {
        const HostPlace& mine = plan_.places[static_cast<std::size_t>(plan_.place[at_])];
        std::int64_t moment = 0;
        for (std::size_t i = 0; i < plan_.places.size(); ++i) {
            const HostPlace& other = plan_.places[i];
            if (other.offset < mine.offset + mine.bytes && mine.offset < other.offset + other.bytes)
                moment = std::max(moment, left_[i]);
        }
        return moment;
    }

    template <class Tensors>
    void wait_for_copies(const Tensors& tensors) {
        std::vector<int> copies;
        for (TensorId t : tensors) copies.insert(copies.end(), {state_[t].to_device, state_[t].to_host});
        after(Lane::compute, copies);
    }

    void end() {
        std::vector<TensorId> awaited;
        for (TensorId t : graph_.tensors.ids())
            if (!goes_on_[t]) awaited.push_back(t);
        wait_for_copies(awaited);
        for (std::size_t i = 0; i < plan_.places.size(); ++i)
            if (plan_.places[i].taken >= 0 && plan_.places[i].left == at()) left_[i] = done();
    }

    /// What the lane is given next begins when these copies are done and compute has reached the moment. A
    /// link is done with its last copy when it is done with all; what one wait says another need not.
    void after(Lane lane, const std::vector<int>& copies, std::int64_t moment = -1) {
        std::array<int, 3> last{-1, -1, -1};
        for (int number : copies) {
            if (number < 0) continue;
            int& latest = last[index(copies_[static_cast<std::size_t>(number)].lane)];
            latest = std::max(latest, number);
        }
        const int in = last[index(Lane::in)], out = last[index(Lane::out)];
        if (!says(in, moment) && !says(out, moment)) after_compute(lane, moment);
        if (in >= 0 && out >= 0 && says(in, copies_[static_cast<std::size_t>(out)])) after_copy(lane, in);
        after_copy(lane, out);
        after_copy(lane, in);
        after_compute(lane, moment);
    }
    bool says(int copy, std::int64_t moment) {
        return copy >= 0 && compute_of(copies_[static_cast<std::size_t>(copy)].known) >= moment;
    }
    bool says(int copy, const Copy& other) {
        return copies_[static_cast<std::size_t>(copy)].known[index(other.lane)] >= other.number;
    }

    void after_copy(Lane lane, int number) {
        if (number < 0) return;
        Copy& copy = copies_[static_cast<std::size_t>(number)];
        if (lane == copy.lane || known(lane)[index(copy.lane)] >= copy.number) return;
        copy.orders->orders[copy.place].marked = true;
        orders_->orders.push_back({.kind = LaneOrder::Kind::wait_for_copy,
                                   .lane = lane,
                                   .step = copy.step,
                                   .last_time = copy.repetition != repetition_});
        join(known(lane), copy.known);
    }

    void after_compute(Lane lane, std::int64_t moment) {
        if (compute_of(known(lane)) >= moment) return;
        orders_->orders.push_back({.kind = LaneOrder::Kind::wait_for_compute, .lane = lane});
        join(known(lane), known(Lane::compute));
    }

    int copy(Lane lane) {
        orders_->orders.push_back(
            {.kind = LaneOrder::Kind::copy, .lane = lane, .step = static_cast<std::int32_t>(at_)});
        const std::int64_t number = ++known(lane)[index(lane)];
        copies_.push_back({lane, number, known(lane), static_cast<std::int32_t>(at_), repetition_, orders_,
                           orders_->orders.size() - 1});
        return static_cast<int>(copies_.size()) - 1;
    }
    void end_list() { orders_->begin.push_back(static_cast<std::uint32_t>(orders_->orders.size())); }

    const Graph& graph_;
    TransferPlan& plan_;
    std::span<const TransferPause> pauses_;  ///< in the order of steps
    std::size_t next_pause_ = 0;
    std::vector<std::int64_t> left_;  ///< by place: when it was free again, the last time
    IdVector<TensorId, std::uint8_t> resident_;
    IdVector<TensorId, std::uint8_t> goes_on_;  ///< its copies may, in the next repetition
    IdVector<TensorId, State> state_;
    IdVector<OpId, std::uint8_t> ran_;
    std::array<Clock, 3> known_;  ///< by lane: what has been done before whatever it is given next
    std::vector<Copy> copies_;
    LaneOrders* orders_ = nullptr;
    std::int64_t base_ = 0;
    std::int64_t last_work_ = 0;  ///< after which memory may have been given back
    std::size_t at_ = 0;
    int repetition_ = 0;
};

/// The same orders, whatever is marked.
bool alike(LaneOrders a, LaneOrders b) {
    for (LaneOrders* one : {&a, &b})
        for (LaneOrder& order : one->orders) order.marked = false;
    return a == b;
}

}  // namespace

Result<TransferPlan> TransferPlan::make(const Graph& graph, std::span<const Step> steps, const Homes& homes,
                                        std::span<const TransferPause> pauses) {
    if (Result<void> sound = sound_homes(graph, homes); !sound) return sound.error();
    TransferPlan plan{.steps = {steps.begin(), steps.end()}};
    HostLayout layout(graph, homes, plan);
    if (Result<void> done = layout.lay_out(); !done) return done.error();
    Scheduler scheduler(graph, homes, plan, pauses);
    scheduler.play(plan.first);
    if (!homes.cyclic) return plan;
    LaneOrders again;
    scheduler.play(plan.steady);
    scheduler.play(again);
    if (!alike(plan.steady, again))
        return Error{"the copies under way at the end are not those at the end of the next step"};
    return plan;
}

}  // namespace rematlas
