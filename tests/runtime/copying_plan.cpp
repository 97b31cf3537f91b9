#include "tests/runtime/copying_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "core/checking/check.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::test {
namespace {

/// Sets times that are the same on each machine, because they decide which round trips to the host the
/// checker accepts.
Graph with_links(Graph graph) {
    for (Op& op : graph.ops) {
        op.time = Nanoseconds(1000);
        for (TensorId out : op.outputs) op.time += Nanoseconds(graph.tensors[out].bytes.value);
    }
    const FlatGraph flat = flatten(graph);
    double bytes = 0;
    for (const Tensor& tensor : graph.tensors) bytes += double(tensor.bytes.value);
    const double speed = bytes / (double(std::max<std::int64_t>(flat.base_time, 1)) * 1e-9) / 3;
    if (!graph.device) graph.device.emplace();
    graph.device->links.to_host_bytes_per_second = std::max(speed, 1.0);
    graph.device->links.to_device_bytes_per_second = std::max(1.3 * speed, 1.0);
    graph.device->links.to_host_contended_bytes_per_second = std::max(0.7 * speed, 1.0);
    graph.device->links.copy_latency = Nanoseconds(100);
    return graph;
}

class Traveller {
  public:
    Traveller(const Graph& graph, const CopyingOptions& options)
        : options_(options), random_(options.seed), plan_{.graph = with_links(graph), .schedule = {}} {
        const FlatGraph flat = flatten(plan_.graph);
        plan_.schedule.graph = plan_.graph.name;
        plan_.schedule.graph_sha256 = plan_.graph.sha256;
        plan_.schedule.solver = "test";
        plan_.schedule.steps = lower(flat, keep_all_sequence(flat));
        base_time_ = flat.base_time;
    }

    Plan make() {
        const IdVector<TensorId, OpId> producer = producers(plan_.graph);
        std::vector<TensorId> heaviest;
        for (TensorId t : plan_.graph.tensors.ids())
            if (plan_.graph.tensors[t].bytes.value > 0) heaviest.push_back(t);
        std::stable_sort(heaviest.begin(), heaviest.end(), [&](TensorId a, TensorId b) {
            return plan_.graph.tensors[a].bytes > plan_.graph.tensors[b].bytes;
        });
        int trips = 0;
        for (TensorId t : heaviest) {
            const bool resident = !producer[t].valid();
            if (resident ? !options_.residents : !options_.made) continue;
            if (trips++ == options_.most) break;
            if (resident && options_.homes && live_on_host(t)) continue;
            if (!resident && options_.results && end_on_host(t)) continue;
            travel(t, resident);
        }
        return predicted();
    }

  private:
    std::size_t between(std::size_t first, std::size_t last) {
        return first + random_() % (last - first + 1);
    }

    /// The positions in the list of steps from `first` to `last`, between two uses of a tensor. A step can be
    /// inserted at each of them.
    struct Gap {
        std::size_t first, last;
    };
    /// Returns the steps that use the tensor. The end of the schedule counts as a use if the tensor must then
    /// exist.
    std::vector<std::size_t> touches(TensorId t, bool resident) const {
        std::vector<std::size_t> at;
        const auto& steps = plan_.schedule.steps;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const Step& step = steps[i];
            bool touched = !step.names_op() && step.tensor() == t;
            if (step.runs())
                for (const auto* list :
                     {&plan_.graph.ops[step.op()].inputs, &plan_.graph.ops[step.op()].outputs,
                      &plan_.graph.ops[step.op()].mutates})
                    touched = touched || std::find(list->begin(), list->end(), t) != list->end();
            if (touched) at.push_back(i);
        }
        const auto& results = plan_.graph.results;
        if (resident || std::find(results.begin(), results.end(), t) != results.end())
            at.push_back(steps.size());
        return at;
    }

    void travel(TensorId t, bool resident) {
        const std::vector<std::size_t> at = touches(t, resident);
        Gap longest{0, 0};
        for (std::size_t i = 0; i + 1 < at.size(); ++i)
            if (at[i + 1] - at[i] > longest.last - longest.first) longest = {at[i] + 1, at[i + 1]};
        if (longest.last <= longest.first) return;
        bool accepted = false;
        for (int attempt = 0; attempt < 4 && !accepted; ++attempt) {
            const std::size_t back = between(longest.first, longest.last);
            const std::size_t out = between(longest.first, back);
            accepted = trip(t, longest, out, between(out, back), back);
        }
        // Tries the trip that leaves the most time for the copy to the host. The next op that uses the tensor
        // then waits for the copy back.
        if (!accepted) trip(t, longest, longest.first, longest.last, longest.last);
    }

    bool trip(TensorId t, const Gap& gap, std::size_t out, std::size_t gone, std::size_t back) {
        std::vector<Step> steps = plan_.schedule.steps;
        const auto insert = [&](std::size_t place, const Step& step) {
            steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(place), step);
        };
        if (random_() % 3 == 0) insert(gap.last, Step::drop(t));
        insert(back, Step::fetch(t));
        insert(gone, Step::free(t));
        insert(out, Step::offload(t));
        return accept(std::move(steps), plan_.schedule.homes);
    }

    /// Sends the gradient to the host after its last use on the device, and leaves it there.
    bool end_on_host(TensorId t) {
        const std::vector<std::size_t> at = touches(t, false);
        const bool result = !at.empty() && at.back() == plan_.schedule.steps.size();
        if (!result || at.size() < 2 || plan_.graph.tensors[t].kind != TensorKind::gradient) return false;
        std::vector<Step> steps = plan_.schedule.steps;
        const std::size_t gone = between(at[at.size() - 2] + 1, steps.size());
        steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(gone), Step::free(t));
        const std::size_t out = between(at[at.size() - 2] + 1, gone);
        steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(out), Step::offload(t));
        return accept(std::move(steps), with_home(t));
    }

    Homes with_home(TensorId t) const {
        Homes homes = plan_.schedule.homes;
        homes.on_host.insert(std::upper_bound(homes.on_host.begin(), homes.on_host.end(), t), t);
        return homes;
    }

    /// Makes the host the home of the tensor: the tensor is fetched for the ops that read it, and copied back
    /// if an op changes it.
    bool live_on_host(TensorId t) {
        const std::vector<std::size_t> at = touches(t, false);
        const bool changed = std::any_of(plan_.graph.ops.begin(), plan_.graph.ops.end(), [&](const Op& op) {
            return std::find(op.mutates.begin(), op.mutates.end(), t) != op.mutates.end();
        });
        const TensorKind kind = plan_.graph.tensors[t].kind;
        const bool ours = kind == TensorKind::parameter || kind == TensorKind::constant || changed;
        if (at.empty() || !ours) return false;
        Homes homes = with_home(t);
        const bool stays = random_() % 4 == 0;
        if (stays) homes.stays.insert(std::upper_bound(homes.stays.begin(), homes.stays.end(), t), t);
        std::vector<Step> steps = plan_.schedule.steps;
        const auto insert = [&](std::size_t place, const Step& step) {
            steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(place), step);
        };
        const std::size_t gone = between(at.back() + 1, steps.size());
        if (!stays) insert(gone, Step::free(t));
        if (changed) insert(between(at.back() + 1, gone), Step::offload(t));
        if (!stays) insert(between(0, at.front()), Step::fetch(t));
        return accept(std::move(steps), std::move(homes));
    }

    bool accept(std::vector<Step> steps, Homes homes) {
        Schedule changed = plan_.schedule;
        changed.steps = std::move(steps);
        changed.homes = std::move(homes);
        if (!check(plan_.graph, changed).ok()) return false;
        plan_.schedule = std::move(changed);
        return true;
    }

    Plan predicted() {
        const CheckReport report = check(plan_.graph, plan_.schedule);
        Schedule& schedule = plan_.schedule;
        schedule.peak = schedule.budget = report.peak;
        schedule.time = report.time;
        schedule.overhead = double(report.time.value) / double(std::max<std::int64_t>(base_time_, 1));
        schedule.host_peak = report.host_peak;
        return std::move(plan_);
    }

    const CopyingOptions& options_;
    std::mt19937_64 random_;
    Plan plan_;
    std::int64_t base_time_ = 0;
};

}  // namespace

Plan copying_plan(const Graph& graph, const CopyingOptions& options) {
    return Traveller(graph, options).make();
}

int copies_in(const Schedule& schedule) {
    return static_cast<int>(std::count_if(schedule.steps.begin(), schedule.steps.end(), [](const Step& step) {
        return step.kind == StepKind::offload || step.kind == StepKind::fetch;
    }));
}

}  // namespace rematlas::test
