#include "core/checking/check.h"

#include <cmath>
#include <map>
#include <set>

#include "core/base/sizes.h"
#include "core/checking/check_addresses.h"
#include "core/checking/check_pins.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostViolations = 20;
constexpr double kMostOptimalGap = 1e-6;  ///< of a schedule that is called optimal: what rounding makes

/// Plays the schedule on sets and maps, straight from the wording of the file format. Slow and plain on
/// purpose.
class Checker {
  public:
    Checker(const Graph& graph, const Schedule& schedule) : graph_(graph), schedule_(schedule) {
        for (const Op& op : graph.ops) {
            step_time_ += static_cast<double>(op.time.value);
            made_.insert(op.outputs.begin(), op.outputs.end());
        }
        for (TensorId t : graph.tensors.ids()) {
            if (!made_.contains(t)) on_device_.insert(t);
        }
        for (TensorId t : on_device_) held_ += size(t);
        peak_ = held_;
    }

    CheckReport run(std::optional<Bytes> budget) {
        for (at_ = 0; at_ < schedule_.steps.size() && !full(); ++at_) play(schedule_.steps[at_]);
        const bool played = at_ == schedule_.steps.size();
        at_ = schedule_.steps.size();
        // The step lasts until the last copy that it began.
        clock_ = std::max({clock_, to_host_free_, to_device_free_});
        if (played && report_.violations.empty()) at_the_end();
        report_.time = Nanoseconds(std::llround(clock_));
        report_.peak = Bytes(peak_);
        report_.overhead = step_time_ > 0 ? clock_ / step_time_ : 1.0;
        if (played && report_.violations.empty()) compare(budget);
        return std::move(report_);
    }

  private:
    bool full() const { return report_.violations.size() >= kMostViolations; }
    std::int64_t size(TensorId t) const { return graph_.tensors[t].bytes.value; }
    std::string name(TensorId t) const {
        return "tensor " + std::to_string(t.value) + " (" + graph_.tensors[t].name + ")";
    }
    std::string name(OpId op) const {
        return "op " + std::to_string(op.value) + " (" + graph_.ops[op].name + ")";
    }

    void violation(const std::string& what) {
        if (!full()) report_.violations.push_back("step " + std::to_string(at_) + ": " + what);
    }
    void violation_at_end(const std::string& what) {
        if (!full()) report_.violations.push_back("at the end: " + what);
    }
    void see_peak(std::int64_t bytes) {
        if (bytes <= peak_) return;
        peak_ = bytes;
        report_.peak_step = at_;
    }

    void play(const Step& step) {
        if (step.runs() ? !graph_.ops.contains(step.op()) : !graph_.tensors.contains(step.tensor())) {
            return violation(std::string(to_string(step.kind)) + " names " + std::to_string(step.id) +
                             ", which does not exist");
        }
        switch (step.kind) {
            case StepKind::run:
                return play_run(step.op(), false);
            case StepKind::run_inplace:
                return play_run(step.op(), true);
            case StepKind::free:
                return play_free(step.tensor());
            case StepKind::offload:
                return play_offload(step.tensor());
            case StepKind::fetch:
                return play_fetch(step.tensor());
        }
    }

    void play_run(OpId id, bool in_place) {
        const Op& op = graph_.ops[id];
        ++report_.runs;
        if (++times_run_[id] > 1) {
            ++report_.reruns;
            if (!op.recomputable) violation(name(id) + " runs again, but may run only once");
        }
        for (TensorId t : op.inputs) {
            if (!on_device_.contains(t))
                violation(name(id) + " reads " + name(t) + ", which is not on the device");
            if (const auto copy = arrives_.find(t); copy != arrives_.end())
                clock_ = std::max(clock_, copy->second);
        }
        if (times_run_[id] == 1) play_updates(id);
        for (TensorId t : op.outputs)
            if (on_device_.contains(t)) await_copies_of(t);
        std::set<TensorId> overwritten, without_new_bytes;
        if (in_place) {
            if (op.inplace.empty()) violation(name(id) + " cannot run in place");
            for (const InplacePair& pair : op.inplace) {
                if (!made_.contains(pair.in))
                    violation(name(id) + " would overwrite " + name(pair.in) + ", which is resident");
                await_copies_of(pair.in);
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
        see_peak(held_ + new_bytes + op.workspace.value);
        for (TensorId t : overwritten) remove(t);
        for (TensorId t : op.outputs) remove(t);
        for (TensorId t : op.outputs) add(t);
        clock_ += static_cast<double>(op.time.value);
    }

    /// The first run of an op changes residents, and so makes what the host has of them worthless.
    void play_updates(OpId id) {
        for (TensorId t : graph_.ops[id].mutates) {
            if (!on_device_.contains(t))
                violation(name(id) + " updates " + name(t) + ", which is not on the device");
            await_copies_of(t);
            on_host_.erase(t);
        }
    }

    /// Bytes that are being copied, from or to the device, stay as they are until the copy is done.
    void await_copies_of(TensorId t) {
        if (const auto copy = on_host_.find(t); copy != on_host_.end())
            clock_ = std::max(clock_, copy->second);
        if (const auto copy = arrives_.find(t); copy != arrives_.end())
            clock_ = std::max(clock_, copy->second);
    }

    void play_free(TensorId t) {
        if (!on_device_.contains(t)) return violation("frees " + name(t) + ", which is not on the device");
        if (!on_host_.contains(t) && !made_.contains(t))
            return violation("frees " + name(t) + ", which is resident and has no copy on the host");
        await_copies_of(t);
        remove(t);
    }

    void play_offload(TensorId t) {
        const double speed = graph_.device ? graph_.device->to_host_bytes_per_second : 0;
        if (speed <= 0) return violation("offloads, but the graph names no link speed");
        if (!on_device_.contains(t)) return violation("offloads " + name(t) + ", which is not on the device");
        if (on_host_.contains(t)) return violation("offloads " + name(t) + ", which is on the host already");
        const double earliest = arrives_.contains(t) ? std::max(clock_, arrives_[t]) : clock_;
        to_host_free_ =
            std::max(earliest, to_host_free_) + std::round(static_cast<double>(size(t)) / speed * 1e9);
        on_host_[t] = to_host_free_;
    }

    void play_fetch(TensorId t) {
        const double speed = graph_.device ? graph_.device->to_device_bytes_per_second : 0;
        if (speed <= 0) return violation("fetches, but the graph names no link speed");
        if (on_device_.contains(t)) return violation("fetches " + name(t) + ", which is on the device");
        if (!on_host_.contains(t)) return violation("fetches " + name(t) + ", which has no copy on the host");
        to_device_free_ = std::max({clock_, to_device_free_, on_host_[t]}) +
                          std::round(static_cast<double>(size(t)) / speed * 1e9);
        add(t);
        arrives_[t] = to_device_free_;
        see_peak(held_);
    }

    void add(TensorId t) {
        on_device_.insert(t);
        held_ += size(t);
    }
    void remove(TensorId t) {
        if (on_device_.erase(t) == 0) return;
        arrives_.erase(t);
        held_ -= size(t);
    }

    void at_the_end() {
        for (TensorId t : graph_.results) {
            if (!on_device_.contains(t)) violation_at_end("result " + name(t) + " is not on the device");
        }
        for (TensorId t : graph_.tensors.ids()) {
            if (!made_.contains(t) && !on_device_.contains(t))
                violation_at_end(name(t) + ", which is resident, is not on the device");
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

    void compare(std::optional<Bytes> budget) {
        if (schedule_.peak.value > 0 && schedule_.peak.value != peak_) {
            violation_at_end("the peak is " + std::to_string(peak_) + " bytes, the schedule predicts " +
                             std::to_string(schedule_.peak.value));
        }
        if (schedule_.peak.value > 0 &&
            std::abs(schedule_.overhead - report_.overhead) > 1e-6 * report_.overhead) {
            violation_at_end("the overhead is " + std::to_string(report_.overhead) +
                             ", the schedule predicts " + std::to_string(schedule_.overhead));
        }
        if (schedule_.bound && schedule_.bound->overhead > report_.overhead * (1 + 1e-6)) {
            violation_at_end("the overhead is " + std::to_string(report_.overhead) +
                             ", below the bound that the schedule names, " +
                             std::to_string(schedule_.bound->overhead));
        }
        if (schedule_.bound && schedule_.status == "optimal" &&
            report_.overhead > schedule_.bound->overhead * (1 + kMostOptimalGap)) {
            violation_at_end("the schedule is called optimal, but its overhead, " +
                             std::to_string(report_.overhead) + ", is above the bound that it names, " +
                             std::to_string(schedule_.bound->overhead));
        }
        if (!budget && schedule_.budget.value > 0) budget = schedule_.budget;
        if (budget && peak_ > budget->value) {
            at_ = report_.peak_step;
            violation("the peak, " + std::to_string(peak_) + " bytes, is over the budget, " +
                      std::to_string(budget->value) + ", by " + format_bytes(Bytes(peak_ - budget->value)));
        }
    }

    const Graph& graph_;
    const Schedule& schedule_;
    std::set<TensorId> made_;  ///< by some op; the others are resident
    std::set<TensorId> on_device_;
    std::map<TensorId, double> on_host_;  ///< with the time at which the copy is done
    std::map<TensorId, double> arrives_;  ///< fetched tensors, with the time at which they are there
    std::map<OpId, std::size_t> times_run_;
    std::size_t at_ = 0;
    std::int64_t held_ = 0, peak_ = 0;
    double clock_ = 0, step_time_ = 0, to_host_free_ = 0, to_device_free_ = 0;
    CheckReport report_;
};

/// Planned addresses are checked by their own checker; the budget bounds the arena.
void check_arena(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget,
                 CheckReport& report) {
    const Bytes arena = schedule.addresses->arena;
    if (!budget && schedule.budget.value > 0) budget = schedule.budget;
    if (Result<void> sound = check_addresses(graph, schedule.steps, *schedule.addresses); !sound)
        report.violations.push_back(sound.error().message);
    else if (budget && arena > *budget)
        report.violations.push_back("the arena, " + std::to_string(arena.value) +
                                    " bytes, is over the budget, " + std::to_string(budget->value) + ", by " +
                                    format_bytes(arena - *budget));
}

}  // namespace

CheckReport check(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget) {
    if (!schedule.graph_sha256.empty() && !graph.sha256.empty() && schedule.graph_sha256 != graph.sha256) {
        CheckReport report;
        report.violations.push_back("the schedule belongs to another graph: it names digest " +
                                    schedule.graph_sha256.substr(0, 12) + "..., this graph has " +
                                    graph.sha256.substr(0, 12) + "...");
        return report;
    }
    CheckReport report = Checker(graph, schedule).run(budget);
    if (report.ok() && !schedule.pins.empty())
        report.violations = broken_pins(graph, schedule.steps, schedule.pins);
    if (report.ok() && schedule.addresses) check_arena(graph, schedule, budget, report);
    return report;
}

}  // namespace rematlas
