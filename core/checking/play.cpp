#include "core/checking/play.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/checking/boundary_rules.h"
#include "core/checking/host_traffic.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostViolations = 20;
constexpr int kMostRepetitions = 64;
constexpr double kLongestCopy = 0x1p52;                   // ns
constexpr std::int64_t kLongest = std::int64_t{1} << 60;  // ns

class Player {
  public:
    Player(const Graph& graph, const Schedule& schedule)
        : graph_(graph), schedule_(schedule), boundary_(graph) {
        if (graph.device) links_ = graph.device->links;
        if (schedule.links) links_ = *schedule.links;
        for (const Op& op : graph.ops) {
            times_[op.collective ? op.collective->queue : std::string()] += op.time.value;
            if (op.collective) report_.collectives[op.collective->queue] = {};
            made_.insert(op.outputs.begin(), op.outputs.end());
        }
        for (OpId id : graph.ops.ids())
            for (TensorId t : graph.ops[id].mutates) updated_by_[t].insert(id);
    }

    CheckReport run() {
        take_homes();
        if (sound()) play_repetitions();
        std::int64_t base = 0;  // the time of compute or of the longest queue, whichever is more
        for (const auto& [queue, time] : times_) base = std::max(base, time);
        report_.overhead =
            base > 0 ? static_cast<double>(report_.time.value) / static_cast<double>(base) : 1.0;
        return std::move(report_);
    }

  private:
    bool sound() const { return report_.violations.empty(); }
    bool full() const { return report_.violations.size() >= kMostViolations; }
    std::int64_t size(TensorId t) const { return graph_.tensors[t].bytes.value; }
    bool resident(TensorId t) const { return !made_.contains(t); }
    /// Says whether `t` is a resident that the host holds from one training step to the next.
    bool kept_on_host(TensorId t) const { return resident(t) && home_on_host_.contains(t); }
    std::string name(TensorId t) const {
        return "tensor " + std::to_string(t.value) + " (" + graph_.tensors[t].name + ")";
    }
    std::string name(OpId op) const {
        return "op " + std::to_string(op.value) + " (" + graph_.ops[op].name + ")";
    }

    void say(const std::string& what) {
        if (!full()) report_.violations.push_back(what);
    }
    void violation(const std::string& what) { say("step " + std::to_string(at_) + ": " + what); }
    void violation_at_end(const std::string& what) { say("at the end: " + what); }

    void take_homes() {
        for (TensorId t : schedule_.homes.on_host) {
            if (!graph_.tensors.contains(t)) {
                say("home_on_host names tensor " + std::to_string(t.value) + ", which does not exist");
                continue;
            }
            if (!home_on_host_.insert(t).second) say("home_on_host names " + name(t) + " twice");
            const auto& results = graph_.results;
            if (!resident(t) && std::find(results.begin(), results.end(), t) == results.end())
                say("home_on_host names " + name(t) + ", which is neither resident nor a result");
        }
        for (TensorId t : schedule_.homes.stays) {
            if (!graph_.tensors.contains(t) || !kept_on_host(t))
                say("stays names tensor " + std::to_string(t.value) +
                    ", which is no resident with its home on the host");
            stays_.insert(t);
        }
    }

    void play_repetitions() {
        std::int64_t started = 0;
        for (int repetition = 1; repetition <= kMostRepetitions; ++repetition) {
            const HostTraffic::UnderWay before = traffic_.under_way();
            started = traffic_.clock();
            const HostTraffic::Busy busy = traffic_.busy();
            begin_step();
            for (at_ = 0; at_ < schedule_.steps.size() && !full(); ++at_) play(schedule_.steps[at_]);
            if (repetition == 1) counts_ = false;
            end_step();
            report_.time = Nanoseconds(traffic_.clock() - started);
            tell_use(busy, 1);
            if (!sound() || !schedule_.homes.cyclic || traffic_.under_way() == before) return;
        }
        // No repetition ended in the state in which it began, so the time is the mean over all repetitions.
        for (const auto& [t, copy] : to_host_) traffic_.await(copy);
        for (const auto& [t, copy] : to_device_) traffic_.await(copy);
        const std::int64_t all = traffic_.clock();
        report_.time = Nanoseconds(all / kMostRepetitions + (all % kMostRepetitions == 0 ? 0 : 1));
        tell_use({}, kMostRepetitions);
    }

    /// Sets the busy times to the mean over the last `steps` repetitions. `before` has the busy times when
    /// these repetitions began.
    void tell_use(HostTraffic::Busy before, std::int64_t steps) {
        for (const auto& [line, total] : traffic_.busy()) {
            SideUse& use = line.first == Way::out    ? report_.to_host
                           : line.first == Way::in   ? report_.to_device
                           : line.first == Way::host ? report_.on_host
                                                     : report_.collectives[line.second];
            use.busy = Nanoseconds((total - before[line]) / steps);
        }
    }

    void begin_step() {
        boundary_.begin_step();
        on_device_.clear();
        on_host_.clear();
        times_run_.clear();
        ran_on_host_.clear();
        held_ = host_held_ = 0;
        for (TensorId t : graph_.tensors.ids()) {
            if (!resident(t)) continue;
            if (!kept_on_host(t) || stays_.contains(t)) add(t);
            if (!kept_on_host(t)) continue;
            on_host_.insert(t);
            host_held_ += size(t);
        }
        see_peaks(held_);
    }

    void see_peaks(std::int64_t device) {
        if (device > report_.peak.value) {
            report_.peak = Bytes(device);
            report_.peak_step = at_;
        }
        if (host_held_ > report_.host_peak.value) {
            report_.host_peak = Bytes(host_held_);
            report_.host_peak_step = at_;
        }
    }

    void play(const Step& step) {
        if (step.names_op() ? !graph_.ops.contains(step.op()) : !graph_.tensors.contains(step.tensor())) {
            return violation(std::string(to_string(step.kind)) + " names " + std::to_string(step.id) +
                             ", which does not exist");
        }
        switch (step.kind) {
            case StepKind::run:
                play_run(step.op(), false);
                break;
            case StepKind::run_inplace:
                play_run(step.op(), true);
                break;
            case StepKind::free:
                play_free(step.tensor());
                break;
            case StepKind::offload:
                play_offload(step.tensor());
                break;
            case StepKind::fetch:
                play_fetch(step.tensor());
                break;
            case StepKind::drop:
                play_drop(step.tensor());
                break;
            case StepKind::run_host:
                play_run_host(step.op());
                break;
        }
        if (traffic_.clock() > kLongest) violation("the time is too long to count");
    }

    void play_run(OpId id, bool in_place) {
        const Op& op = graph_.ops[id];
        const bool first = ++times_run_[id] == 1;
        if (counts_) ++report_.runs;
        if (counts_ && !first) ++report_.reruns;
        if (!first && !op.recomputable) violation(name(id) + " runs again, but may run only once");
        for (const std::string& what : boundary_.broken_by_run(id)) violation(name(id) + " " + what);
        if (ran_on_host_.contains(id)) violation(name(id) + " runs, but has run on the host");
        for (TensorId t : op.inputs) {
            if (!on_device_.contains(t))
                violation(name(id) + " reads " + name(t) + ", which is not on the device");
            await(to_device_, t);
            await(made_by_collective_, t);
        }
        see_values(id, op.inputs);
        if (first) play_updates(id);
        for (TensorId t : op.outputs)
            if (on_device_.contains(t)) expect_no_use_of(t, name(id) + " makes again");
        std::set<TensorId> overwritten, without_new_bytes;
        if (in_place) {
            if (op.inplace.empty()) violation(name(id) + " cannot run in place");
            for (const InplacePair& pair : op.inplace) {
                if (resident(pair.in))
                    violation(name(id) + " would overwrite " + name(pair.in) + ", which is resident");
                expect_no_use_of(pair.in, name(id) + " writes over");
                overwritten.insert(pair.in);
                without_new_bytes.insert(pair.out);
            }
        }
        std::int64_t new_bytes = 0;
        for (TensorId t : op.outputs) {
            if (!without_new_bytes.contains(t)) new_bytes += size(t);
        }
        for (const InplacePair& pair : op.inplace) {
            if (in_place) new_bytes += std::max<std::int64_t>(0, size(pair.out) - size(pair.in));
        }
        see_peaks(held_ + new_bytes + op.workspace.value);
        for (TensorId t : overwritten) remove(t);
        for (TensorId t : op.outputs) remove(t);
        for (TensorId t : op.outputs) add(t);
        op.collective ? play_collective(id) : traffic_.compute(op.time.value);
    }

    void play_collective(OpId id) {
        const Op& op = graph_.ops[id];
        const auto task = traffic_.run_collective(op.collective->queue, id.value, op.time.value);
        for (TensorId t : op.outputs) made_by_collective_[t] = task;
        for (TensorId t : op.inputs) read_by_collectives_[t].insert(task);
        if (counts_) report_.collectives[op.collective->queue].bytes += op.collective->wire;
    }
    void await_collectives_of(TensorId t) {
        await(made_by_collective_, t);
        for (const HostTraffic::TaskId task : read_by_collectives_[t]) traffic_.await(task);
    }

    /// Checks that the residents have the values that the op finds in the graph's order: ops before it that
    /// update these residents have run, and ops after it that update them have not.
    void see_values(OpId id, const std::vector<TensorId>& tensors) {
        for (TensorId t : tensors) {
            for (OpId other : updated_by_[t]) {
                if (other == id) continue;
                const bool updated = times_run_[other] > 0, comes_before = other < id;
                if (updated && !comes_before)
                    violation(name(id) + " uses " + name(t) + " after " + name(other) + " has updated it");
                if (!updated && comes_before)
                    violation(name(id) + " uses " + name(t) + " before " + name(other) + " has updated it");
            }
        }
    }

    /// Simulates the updates of residents by an op's first run. The copies of these residents on the host
    /// become invalid.
    void play_updates(OpId id) {
        see_values(id, graph_.ops[id].mutates);
        for (TensorId t : graph_.ops[id].mutates) {
            if (!on_device_.contains(t))
                violation(name(id) + " updates " + name(t) + ", which is not on the device");
            await(to_device_, t);
            expect_no_use_of(t, name(id) + " updates");
            await(host_ops_, t);
            leave_host(t);
        }
    }

    void play_free(TensorId t) {
        if (!on_device_.contains(t)) return violation("frees " + name(t) + ", which is not on the device");
        if (!on_host_.contains(t) && resident(t))
            return violation("frees " + name(t) + ", which is resident and has no copy on the host");
        expect_done(to_device_, t, "frees", "arrives");
        await(to_host_, t);
        await_collectives_of(t);
        remove(t);
    }

    void play_offload(TensorId t) {
        if (links_.to_host_bytes_per_second <= 0) return violation("offloads, but no link speed is known");
        if (!on_device_.contains(t)) return violation("offloads " + name(t) + ", which is not on the device");
        if (on_host_.contains(t)) return violation("offloads " + name(t) + ", which is on the host already");
        const double contended = links_.to_host_contended_bytes_per_second;
        start_copy(t, Way::out, links_.to_host_bytes_per_second, contended, to_host_);
        on_host_.insert(t);
        if (!kept_on_host(t)) host_held_ += size(t);
        if (counts_) report_.to_host.bytes += Bytes(size(t));
        see_peaks(held_);
    }

    void play_fetch(TensorId t) {
        if (links_.to_device_bytes_per_second <= 0) return violation("fetches, but no link speed is known");
        if (on_device_.contains(t)) return violation("fetches " + name(t) + ", which is on the device");
        if (!on_host_.contains(t)) return violation("fetches " + name(t) + ", which has no copy on the host");
        const double contended = links_.to_device_contended_bytes_per_second;
        start_copy(t, Way::in, links_.to_device_bytes_per_second, contended, to_device_);
        add(t);
        if (counts_) report_.to_device.bytes += Bytes(size(t));
        see_peaks(held_);
    }

    void play_drop(TensorId t) {
        if (!on_host_.contains(t)) return violation("drops " + name(t) + ", which has no copy on the host");
        if (kept_on_host(t)) return violation("drops " + name(t) + ", whose home is on the host");
        if (resident(t) && !on_device_.contains(t))
            return violation("drops the only copy of " + name(t) + ", which is resident");
        await_copies_of(t);
        await(host_ops_, t);
        leave_host(t);
    }

    void play_run_host(OpId id) {
        const Op& op = graph_.ops[id];
        if (counts_) ++report_.host_runs;
        if (!op.host_time) return violation(name(id) + " cannot run on the host");
        if (++times_run_[id] > 1) violation(name(id) + " runs on the host, but has run before");
        ran_on_host_.insert(id);
        see_values(id, op.inputs);
        see_values(id, op.mutates);
        std::set<HostTraffic::TaskId> first;
        for (const auto& list : {op.inputs, op.mutates}) {
            for (TensorId t : list) {
                if (!on_host_.contains(t))
                    violation(name(id) + " runs on the host and reads " + name(t) + ", which is not there");
                if (const auto copy = to_host_.find(t); copy != to_host_.end()) first.insert(copy->second);
            }
        }
        for (TensorId t : op.mutates) {
            if (on_device_.contains(t))
                violation(name(id) + " updates " + name(t) + " on the host, while it is on the device too");
        }
        const HostTraffic::TaskId task = traffic_.run_on_host(id.value, op.host_time->value, first);
        for (const auto& list : {op.inputs, op.mutates, op.outputs})
            for (TensorId t : list) host_ops_[t] = task;
        for (const auto& list : {op.mutates, op.outputs})
            for (TensorId t : list) host_writes_[t] = task;
        for (TensorId t : op.outputs) {
            if (on_host_.insert(t).second) host_held_ += size(t);
        }
        see_peaks(held_);
    }

    using Latest = std::map<TensorId, HostTraffic::TaskId>;

    void start_copy(TensorId t, Way way, double speed, double contended, Latest& latest) {
        const double alone = static_cast<double>(size(t)) / speed * 1e9;
        const double beside = contended > 0 ? static_cast<double>(size(t)) / contended * 1e9 : alone;
        const std::int64_t latency = links_.copy_latency.value;
        if (!(alone <= kLongestCopy && beside <= kLongestCopy) ||
            (copy_time_ += std::llround(beside) + latency) > kLongest)
            return violation("copies " + name(t) + " for longer than can be counted");
        std::set<HostTraffic::TaskId> first;
        for (const Latest* list :
             {&to_host_, &to_device_, way == Way::out ? &host_ops_ : &host_writes_, &made_by_collective_})
            if (const auto found = list->find(t); found != list->end()) first.insert(found->second);
        latest[t] =
            traffic_.copy(way, t.value, std::llround(alone), std::llround(beside), latency, std::move(first));
    }

    void await(const Latest& list, TensorId t) {
        if (const auto found = list.find(t); found != list.end()) traffic_.await(found->second);
    }
    /// Waits for collectives that use the tensor, and checks that no copy of the tensor is running: its bytes
    /// must not change until the copy is done.
    void expect_no_use_of(TensorId t, const std::string& doing) {
        await_collectives_of(t);
        expect_done(to_device_, t, doing, "arrives");
        expect_done(to_host_, t, doing, "is on its way to the host");
    }
    void expect_done(const Latest& copies, TensorId t, const std::string& doing, const char* how) {
        const std::int64_t now = traffic_.clock();
        await(copies, t);
        if (const std::int64_t wait = traffic_.clock() - now; wait > 0)
            violation(doing + " " + name(t) + ", which " + how + " for " + std::to_string(wait) + " ns more");
    }
    void await_copies_of(TensorId t) {
        await(to_host_, t);
        await(to_device_, t);
    }

    void add(TensorId t) {
        if (on_device_.insert(t).second) held_ += size(t);
    }
    void remove(TensorId t) {
        if (on_device_.erase(t) > 0) held_ -= size(t);
    }
    void leave_host(TensorId t) {
        if (on_host_.erase(t) > 0 && !kept_on_host(t)) host_held_ -= size(t);
    }

    void end_step() {
        for (const auto& [t, op] : host_ops_) traffic_.await(op);
        for (TensorId t : graph_.tensors.ids()) await_collectives_of(t);
        for (const Latest* list : {&to_host_, &to_device_}) {
            for (const auto& [t, copy] : *list)
                if (!schedule_.homes.cyclic || !kept_on_host(t)) traffic_.await(copy);
        }
        if (!sound()) return;
        for (TensorId t : graph_.results) {
            if (resident(t)) continue;
            const bool host = home_on_host_.contains(t);
            if (!(host ? on_host_ : on_device_).contains(t))
                violation_at_end("result " + name(t) + " is not on the " + (host ? "host" : "device"));
        }
        for (TensorId t : graph_.tensors.ids()) {
            if (resident(t)) end_of_resident(t);
        }
        for (OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            if (times_run_[id] > 0) continue;
            if (op.phase != Phase::forward)
                violation_at_end(name(id) + " of phase " + std::string(to_string(op.phase)) + " never ran");
            else if (!op.recomputable)
                violation_at_end(name(id) + " must run exactly once and never ran");
            else if (!op.mutates.empty())
                violation_at_end(name(id) + " updates residents and never ran");
        }
    }

    void end_of_resident(TensorId t) {
        const bool there = on_device_.contains(t), belongs = !kept_on_host(t) || stays_.contains(t);
        if (belongs && !there) violation_at_end(name(t) + ", which is resident, is not on the device");
        if (there && !belongs)
            violation_at_end(name(t) + " is on the device, where the next step does not find it");
        if (kept_on_host(t) && !on_host_.contains(t))
            violation_at_end(name(t) + ", whose home is on the host, is not there");
    }

    const Graph& graph_;
    const Schedule& schedule_;
    Links links_;
    std::set<TensorId> made_;  ///< tensors that some op makes; all others are resident
    std::map<TensorId, std::set<OpId>> updated_by_;
    std::set<TensorId> home_on_host_, stays_;
    std::set<TensorId> on_device_, on_host_;
    Latest to_host_, to_device_;  ///< per tensor: its latest copy
    /// Per tensor: the latest op on the host that reads, mutates or makes the tensor, and the latest op on
    /// the host that mutates or makes it.
    Latest host_ops_, host_writes_;
    std::map<OpId, std::size_t> times_run_;
    std::set<OpId> ran_on_host_;
    BoundaryRules boundary_;
    std::size_t at_ = 0;
    std::int64_t held_ = 0, host_held_ = 0, copy_time_ = 0;
    bool counts_ = true;                         ///< true in the first repetition; only its steps are counted
    std::map<std::string, std::int64_t> times_;  ///< per queue: time of all its ops; "" is compute
    Latest made_by_collective_;                  ///< per tensor: the latest collective that makes it
    std::map<TensorId, std::set<HostTraffic::TaskId>> read_by_collectives_;
    HostTraffic traffic_;
    CheckReport report_;
};

}  // namespace

CheckReport play_schedule(const Graph& graph, const Schedule& schedule) {
    return Player(graph, schedule).run();
}

}  // namespace rematlas
