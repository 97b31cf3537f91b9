#include "core/schedule/simulate.h"

#include <algorithm>
#include <cmath>

#include "core/schedule/boundary_sides.h"
#include "core/schedule/collectives_under_way.h"
#include "core/schedule/homes.h"

namespace rematlas {
namespace {

constexpr int kMostRepetitions = 64;
constexpr std::int64_t kLongestCopy = std::int64_t{1} << 52;  // ns
constexpr std::int64_t kLongestTime = std::int64_t{1} << 60;  // ns

class Simulator {
  public:
    Simulator(const Graph& graph, const Homes& homes, const Links& links)
        : graph_(graph),
          homes_(homes),
          links_(links),
          producer_(producers(graph)),
          places_(graph.tensors.size()),
          run_count_(graph.ops.size(), 0),
          sides_(graph, producer_),
          updaters_(graph.tensors.size()),
          collectives_(graph),
          queues_(collectives_.queue_count()) {
        for (OpId op : graph.ops.ids())
            for (TensorId t : graph.ops[op].mutates) updaters_[t].push_back(op);
    }

    Result<Simulation> run(const std::vector<Step>& steps) {
        if (Result<void> sound = sound_homes(graph_, homes_); !sound) return sound.error();
        take_homes();
        for (int repetition = 1;; ++repetition) {
            const std::vector<SideQueues::Pending> before = queues_.pending();
            if (Result<void> played = play(steps); !played) return played.error();
            if (!homes_.cyclic) return finish(0);
            if (Result<void> alike = end_as_begun(); !alike) return alike.error();
            if (queues_.pending() == before) return steady(steps);
            if (repetition == kMostRepetitions) return average();
        }
    }

  private:
    struct Place {
        bool on_device = false;
        bool on_host = false;  ///< the host has a copy with the tensor's current value
        bool lives_on_host = false;
        bool stays = false;
        int to_device = -1, to_host = -1;  ///< numbers of the latest copies; -1: none
        int host_op = -1;                  ///< the latest op on the host that reads, mutates or makes the
                                           ///< tensor
        int host_write = -1;               ///< the latest op on the host that mutates or makes the tensor
    };

    void take_homes() {
        for (TensorId t : homes_.on_host) {
            places_[t].lives_on_host = true;
            if (has_slot(t)) host_held_ += graph_.tensors[t].bytes;
        }
        for (TensorId t : homes_.stays) places_[t].stays = true;
    }

    /// Puts each tensor where it is when the training step starts. Copies that are under way continue.
    void begin() {
        result_ = {};
        alive_ = Bytes(0);
        for (TensorId t : graph_.tensors.ids()) {
            Place& place = places_[t];
            const bool resident = !producer_[t].valid();
            if (place.on_host && !(resident && place.lives_on_host)) leave_host(t);
            place.on_host = resident && place.lives_on_host;
            place.on_device = resident && (!place.lives_on_host || place.stays);
            if (place.on_device) alive_ += graph_.tensors[t].bytes;
        }
        std::fill(run_count_.begin(), run_count_.end(), 0);
        sides_.begin_step();
        side_.clear();
        result_.peak = alive_;
        result_.host_peak = host_held_;
    }

    Result<void> play(const std::vector<Step>& steps) {
        begin();
        started_ = now();
        result_.steps.reserve(steps.size());
        for (at_ = 0; at_ < steps.size(); ++at_) {
            StepTrace trace;
            trace.start = now();
            trace.during = alive_;
            if (Result<void> done = step(steps[at_], trace); !done)
                return refuse("step " + std::to_string(at_) + ": " + done.error().message);
            if (now().value > kLongestTime)
                return refuse("step " + std::to_string(at_) + ": the time is too long to count");
            trace.end = now() - started_;
            trace.start -= started_;
            trace.after = alive_;
            trace.host = host_held_;
            if (trace.during > result_.peak) {
                result_.peak = trace.during;
                result_.peak_step = at_;
            }
            result_.host_peak = std::max(result_.host_peak, host_held_);
            result_.steps.push_back(trace);
        }
        end();
        return {};
    }

    /// Waits until all copies, host runs and collectives are done. If the homes are cyclic, copies of
    /// residents that live on the host are not awaited, because they continue in the next repetition.
    void end() {
        for (TensorId t : graph_.tensors.ids()) {
            const Place& place = places_[t];
            queues_.wait_for(place.host_op);
            collectives_.wait_for_uses(t, queues_);
            if (homes_.cyclic && place.lives_on_host && !producer_[t].valid()) continue;
            for (const int copy : {place.to_host, place.to_device}) queues_.wait_for(copy);
        }
    }

    Result<void> end_as_begun() const {
        for (TensorId t : graph_.tensors.ids()) {
            const Place& place = places_[t];
            if (producer_[t].valid()) continue;
            if (place.on_device != (!place.lives_on_host || place.stays))
                return refuse("at the end: " + label(t) + (place.on_device ? " is" : " is not") +
                              " on the device");
            if (place.lives_on_host && !place.on_host)
                return refuse("at the end: " + label(t) + " is not on the host");
        }
        return {};
    }

    /// Simulates one more repetition, to find out when the last copies of the previous repetition end.
    Result<Simulation> steady(const std::vector<Step>& steps) {
        if (queues_.pending().empty()) return finish(now().value - started_.value);
        const Simulation measured = result_;
        const std::vector<int> side = side_;
        const Nanoseconds started = started_, time = now() - started_;
        if (Result<void> played = play(steps); !played) return played.error();
        result_ = measured;
        side_ = side;
        started_ = started;
        return finish(time.value);
    }

    Result<Simulation> average() {
        for (const Place& place : places_)
            for (const int copy : {place.to_host, place.to_device}) queues_.wait_for(copy);
        return finish((now().value + kMostRepetitions - 1) / kMostRepetitions);
    }

    /// Completes the result. `time` is the time of the training step if the homes are cyclic. If they are
    /// not, the time is read from the clock.
    Simulation finish(std::int64_t time) {
        result_.time = homes_.cyclic ? Nanoseconds(time) : now();
        for (std::size_t i = 0; i < side_.size(); ++i) {
            result_.beside[i].start = Nanoseconds(queues_.begin(side_[i])) - started_;
            result_.beside[i].end = Nanoseconds(queues_.end(side_[i])) - started_;
        }
        return std::move(result_);
    }

    Result<void> step(const Step& step, StepTrace& trace) {
        const bool known =
            step.names_op() ? graph_.ops.contains(step.op()) : graph_.tensors.contains(step.tensor());
        if (!known)
            return Error{std::string(to_string(step.kind)) + " " + std::to_string(step.id) + ": no such " +
                         (step.names_op() ? "op" : "tensor")};
        switch (step.kind) {
            case StepKind::run:
                return execute(step.op(), false, trace);
            case StepKind::run_inplace:
                return execute(step.op(), true, trace);
            case StepKind::free:
                return release(step.tensor(), trace);
            case StepKind::offload:
                return offload(step.tensor());
            case StepKind::fetch:
                return fetch(step.tensor(), trace);
            case StepKind::drop:
                return drop_from_host(step.tensor());
            case StepKind::run_host:
                return execute_on_host(step.op());
        }
        return Error{"unknown step"};
    }

    Result<void> execute(OpId id, bool in_place, StepTrace& trace) {
        const Op& op = graph_.ops[id];
        const std::string name = "op " + std::to_string(id.value);
        if (in_place && op.inplace.empty()) return Error{name + " cannot run in place"};
        if (run_count_[id] == kOnHost) return Error{name + " has run on the host"};
        const bool first = run_count_[id]++ == 0;
        if ((!first && !op.recomputable) || !sides_.run(id)) return Error{name + " must run once only"};
        for (TensorId t : op.inputs) {
            if (!places_[t].on_device)
                return Error{"op " + std::to_string(id.value) + " needs " + label(t) +
                             ", which is not on the device"};
            queues_.wait_for(places_[t].to_device);
            queues_.wait_for(collectives_.maker(t));
        }
        if (Result<void> right = reads_right(id, op.inputs); !right) return right;
        if (first) {
            if (Result<void> done = update(id, op); !done) return done;
        }
        for (TensorId t : op.outputs) {
            if (!places_[t].on_device) continue;
            if (Result<void> still = is_unused(t); !still) return still;
        }
        if (in_place) {
            for (const InplacePair& pair : op.inplace)
                if (Result<void> still = is_unused(pair.in); !still) return still;
        }
        trace.start = now();
        Bytes during = alive_ + op.workspace;
        for (TensorId t : op.outputs) during += graph_.tensors[t].bytes;
        if (in_place) {
            for (const InplacePair& pair : op.inplace) {
                if (!producer_[pair.in].valid())
                    return Error{"op " + std::to_string(id.value) + " would overwrite the resident " +
                                 label(pair.in)};
                during -= std::min(graph_.tensors[pair.out].bytes, graph_.tensors[pair.in].bytes);
                drop(pair.in);
            }
        }
        trace.during = during;
        for (TensorId t : op.outputs) {
            if (places_[t].on_device) drop(t);
            place(t);
        }
        if (collectives_.queue_of(id) >= 0)
            trace_beside(collectives_.start(id, queues_), SideQueue::collective);
        else
            queues_.move_to(now().value + op.time.value);
        return {};
    }

    /// Simulates the updates of residents in an op's first run. Fails if a copy of one of these residents to
    /// the host is under way. A copy that the host holds becomes outdated.
    Result<void> update(OpId id, const Op& op) {
        if (Result<void> right = reads_right(id, op.mutates); !right) return right;
        for (TensorId t : op.mutates) {
            if (!places_[t].on_device)
                return Error{"op " + std::to_string(id.value) + " updates " + label(t) +
                             ", which is not on the device"};
            queues_.wait_for(places_[t].to_device);
            if (Result<void> still = is_unused(t); !still) return still;
            queues_.wait_for(places_[t].host_op);
            if (places_[t].on_host) leave_host(t);
        }
        return {};
    }

    /// Checks that the tensors have their right values: all updates by ops that come before this op in the
    /// graph have been made, and no other updates.
    Result<void> reads_right(OpId id, const std::vector<TensorId>& tensors) const {
        for (TensorId t : tensors) {
            for (OpId other : updaters_[t]) {
                if (other == id || (other < id) == (run_count_[other] != 0)) continue;
                return Error{"op " + std::to_string(id.value) + " needs " + label(t) + " as it is " +
                             (other < id ? "after" : "before") + " op " + std::to_string(other.value) +
                             " updates it"};
            }
        }
        return {};
    }

    /// Waits for the collectives that make or read the tensor. Fails if a copy of the tensor is under way.
    /// Must be called before the tensor's bytes are written.
    Result<void> is_unused(TensorId t) {
        collectives_.wait_for_uses(t, queues_);
        if (Result<void> there = is_over(places_[t].to_device, t, "to the device"); !there) return there;
        return is_over(places_[t].to_host, t, "to the host");
    }
    Result<void> is_over(int copy, TensorId t, const char* where) {
        const Nanoseconds before = now();
        queues_.wait_for(copy);
        if (now() == before) return {};
        return Error{label(t) + " is still on its way " + where};
    }

    Result<void> release(TensorId t, StepTrace& trace) {
        if (!places_[t].on_device) return Error{"free of " + label(t) + ", which is not on the device"};
        if (!producer_[t].valid() && !places_[t].on_host)
            return Error{"free of the resident " + label(t) + " without a copy on the host"};
        if (Result<void> there = is_over(places_[t].to_device, t, "to the device"); !there) return there;
        queues_.wait_for(places_[t].to_host);
        collectives_.wait_for_uses(t, queues_);
        trace.start = now();
        drop(t);
        return {};
    }

    Result<void> offload(TensorId t) {
        Place& place = places_[t];
        if (links_.to_host_bytes_per_second <= 0) return Error{"offload: no link speed to the host is known"};
        if (!place.on_device) return Error{"offload of " + label(t) + ", which is not on the device"};
        if (place.on_host) return Error{"offload of " + label(t) + ", which is on the host already"};
        Result<int> copy = begin_copy(t, SideQueue::to_host, links_.to_host_bytes_per_second,
                                      links_.to_host_contended_bytes_per_second,
                                      {place.to_device, place.host_op, collectives_.maker(t)});
        if (!copy) return copy.error();
        place.to_host = *copy;
        reach_host(t);
        return {};
    }

    Result<void> fetch(TensorId t, StepTrace& trace) {
        Place& place = places_[t];
        if (links_.to_device_bytes_per_second <= 0)
            return Error{"fetch: no link speed to the device is known"};
        if (place.on_device) return Error{"fetch of " + label(t) + ", which is on the device"};
        if (!place.on_host) return Error{"fetch of " + label(t) + ", which has no copy on the host"};
        Result<int> copy =
            begin_copy(t, SideQueue::to_device, links_.to_device_bytes_per_second,
                       links_.to_device_contended_bytes_per_second, {place.to_host, place.host_write});
        if (!copy) return copy.error();
        this->place(t);
        place.to_device = *copy;
        trace.during = alive_;
        return {};
    }

    Result<void> drop_from_host(TensorId t) {
        const Place& place = places_[t];
        if (!place.on_host) return Error{"drop of " + label(t) + ", which has no copy on the host"};
        if (!producer_[t].valid() && place.lives_on_host)
            return Error{"drop of " + label(t) + ", whose home is on the host"};
        if (!producer_[t].valid() && !place.on_device)
            return Error{"drop of the only copy of the resident " + label(t)};
        for (const int work : {place.to_device, place.to_host, place.host_op}) queues_.wait_for(work);
        leave_host(t);
        return {};
    }

    Result<void> execute_on_host(OpId id) {
        const Op& op = graph_.ops[id];
        const std::string name = "op " + std::to_string(id.value);
        if (!op.host_time) return Error{name + " cannot run on the host"};
        if (run_count_[id] != 0) return Error{name + " has run before"};
        for (const auto* list : {&op.inputs, &op.mutates})
            if (Result<void> right = reads_right(id, *list); !right) return right;
        SideWork work{.queue = SideQueue::host, .alone = op.host_time->value, .label = id.value};
        for (const auto* list : {&op.inputs, &op.mutates}) {
            for (TensorId t : *list) {
                if (!places_[t].on_host) return Error{name + " needs " + label(t) + " on the host"};
                work.after.push_back(places_[t].to_host);
            }
        }
        for (TensorId t : op.mutates) {
            if (places_[t].on_device)
                return Error{name + " updates " + label(t) + " on the host, which is on the device too"};
        }
        const int number = queues_.add(std::move(work));
        for (const auto* list : {&op.inputs, &op.mutates, &op.outputs})
            for (TensorId t : *list) places_[t].host_op = number;
        for (const auto* list : {&op.mutates, &op.outputs})
            for (TensorId t : *list) places_[t].host_write = number;
        for (TensorId t : op.outputs) reach_host(t);
        run_count_[id] = kOnHost;
        trace_beside(number, SideQueue::host);
        return {};
    }

    Result<int> begin_copy(TensorId t, SideQueue queue, double speed, double contended,
                           std::vector<int> after) {
        const std::optional<std::int64_t> alone = copy_time(t, speed),
                                          beside = copy_time(t, contended > 0 ? contended : speed);
        if (alone && beside) promised_ += *beside + links_.copy_latency.value;
        if (!alone || !beside || promised_ > kLongestTime)
            return Error{"the copy of " + label(t) + " takes too long to count"};
        const int number =
            queues_.add({queue, *alone, *beside, links_.copy_latency.value, std::move(after), t.value});
        trace_beside(number, queue);
        return number;
    }
    void trace_beside(int number, SideQueue queue) {
        side_.push_back(number);
        result_.beside.push_back({at_, queue, {}, {}});
    }

    void place(TensorId t) {
        places_[t].on_device = true;
        alive_ += graph_.tensors[t].bytes;
    }
    void drop(TensorId t) {
        places_[t].on_device = false;
        alive_ -= graph_.tensors[t].bytes;
    }
    /// Says whether the tensor is a resident with its home on the host. The host always holds bytes for such
    /// a tensor.
    bool has_slot(TensorId t) const { return places_[t].lives_on_host && !producer_[t].valid(); }
    void reach_host(TensorId t) {
        places_[t].on_host = true;
        if (!has_slot(t)) host_held_ += graph_.tensors[t].bytes;
    }
    void leave_host(TensorId t) {
        places_[t].on_host = false;
        if (!has_slot(t)) host_held_ -= graph_.tensors[t].bytes;
    }

    std::optional<std::int64_t> copy_time(TensorId t, double bytes_per_second) const {
        const double time = static_cast<double>(graph_.tensors[t].bytes.value) / bytes_per_second * 1e9;
        if (!(time <= static_cast<double>(kLongestCopy))) return std::nullopt;
        return std::llround(time);
    }
    Nanoseconds now() const { return Nanoseconds(queues_.now()); }
    std::string label(TensorId t) const {
        return "tensor " + std::to_string(t.value) + " (" + graph_.tensors[t].name + ")";
    }
    static Error refuse(std::string message) { return {std::move(message), ErrorKind::negative}; }

    static constexpr int kOnHost = -1;  ///< value in `run_count_` for an op that ran on the host

    const Graph& graph_;
    const Homes& homes_;
    const Links links_;
    IdVector<TensorId, OpId> producer_;
    IdVector<TensorId, Place> places_;
    IdVector<OpId, int> run_count_;
    BoundarySides sides_;
    IdVector<TensorId, std::vector<OpId>> updaters_;
    std::vector<int> side_;      ///< per entry of `Simulation::beside`: the number of its work in `queues_`
    std::int64_t promised_ = 0;  ///< ns, an upper bound on the total time of the copies so far
    Bytes alive_, host_held_;
    Nanoseconds started_;
    std::size_t at_ = 0;
    CollectivesUnderWay collectives_;
    SideQueues queues_;
    Simulation result_;
};

}  // namespace

Result<Simulation> simulate(const Graph& graph, const std::vector<Step>& steps, const Homes& homes,
                            const std::optional<Links>& links) {
    const Links of_graph = graph.device ? graph.device->links : Links{};
    return Simulator(graph, homes, links.value_or(of_graph)).run(steps);
}

Result<Simulation> simulate(const Graph& graph, const Schedule& schedule) {
    return simulate(graph, schedule.steps, schedule.homes, schedule.links);
}

}  // namespace rematlas
