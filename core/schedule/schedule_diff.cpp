#include "core/schedule/schedule_diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/schedule/homes.h"

namespace rematlas {
namespace {

/// Returns the kind under which steps are matched. A run in place matches a plain run.
StepKind matched_kind(StepKind kind) {
    return kind == StepKind::run_inplace ? StepKind::run : kind;
}

/// The indices of the steps of each kind and id, ascending.
using StepsOf = std::map<std::pair<StepKind, std::int64_t>, std::vector<int>>;

StepsOf steps_of(const std::vector<Step>& steps) {
    StepsOf found;
    for (std::size_t i = 0; i < steps.size(); ++i)
        found[{matched_kind(steps[i].kind), steps[i].id}].push_back(static_cast<int>(i));
    return found;
}

/// Matches the n-th step of one kind and id in `a` to the n-th step of the same kind and id in `b`.
void match_steps(const StepsOf& a, const StepsOf& b, ScheduleDiff& diff) {
    for (const auto& [what, in_a] : a) {
        const auto other = b.find(what);
        if (other == b.end()) continue;
        for (std::size_t i = 0; i < std::min(in_a.size(), other->second.size()); ++i) {
            diff.in_b[static_cast<std::size_t>(in_a[i])] = other->second[i];
            diff.in_a[static_cast<std::size_t>(other->second[i])] = in_a[i];
        }
    }
}

/// Returns for each tensor whether it is on the device while step `at` runs. Outputs of the step, and inputs
/// that the step overwrites, count as on the device.
IdVector<TensorId, char> on_device_during(const Graph& graph, const std::vector<Step>& steps, std::size_t at,
                                          const Homes& homes) {
    IdVector<TensorId, char> held = on_device_at_start(graph, homes);
    for (std::size_t i = 0; i <= at && i < steps.size(); ++i) {
        const Step& step = steps[i];
        if (step.kind == StepKind::free && i < at) held[step.tensor()] = 0;
        if (step.kind == StepKind::fetch) held[step.tensor()] = 1;
        if (!step.runs()) continue;
        for (const TensorId output : graph.ops[step.op()].outputs) held[output] = 1;
        if (step.kind == StepKind::run_inplace && i < at)
            for (const InplacePair& pair : graph.ops[step.op()].inplace) held[pair.in] = 0;
    }
    return held;
}

Bytes held_outputs(const Graph& graph, const Op& op, const IdVector<TensorId, char>& held) {
    Bytes sum;
    for (const TensorId output : op.outputs)
        if (held[output]) sum += graph.tensors[output].bytes;
    return sum;
}

int runs_in(const StepsOf& steps, OpId op, StepKind kind = StepKind::run) {
    const auto found = steps.find({kind, op.value});
    return found == steps.end() ? 0 : static_cast<int>(found->second.size());
}

HostUse host_use(const Graph& graph, const PlayedSteps& of) {
    HostUse use{.runs = host_runs(of.steps), .to_host = {}, .to_device = {}, .peak = {}};
    for (const Step& step : of.steps) {
        if (step.kind == StepKind::offload) use.to_host += graph.tensors[step.tensor()].bytes;
        if (step.kind == StepKind::fetch) use.to_device += graph.tensors[step.tensor()].bytes;
    }
    use.peak = of.played.host_peak;
    return use;
}

/// Adds the difference of one op to the sums of `diff`.
void count(const OpDifference& op, Nanoseconds time, ScheduleDiff& diff) {
    const auto add = [&](int& count, Nanoseconds& sum, int runs) {
        count += runs;
        sum += Nanoseconds(time.value * runs);
    };
    const int more = op.runs_b - op.runs_a;
    if (op.on_host_b && !op.on_host_a) return add(diff.left_device, diff.left_time, -more);
    if (op.on_host_a && !op.on_host_b) return add(diff.came_back, diff.came_time, more);
    if (more > 0) add(diff.more_runs, diff.more_time, more);
    if (more < 0) add(diff.fewer_runs, diff.fewer_time, -more);
}

void sort_by_weight(std::vector<OpDifference>& ops) {
    const auto bytes = [](const OpDifference& op) { return std::abs((op.at_peak_b - op.at_peak_a).value); };
    std::stable_sort(ops.begin(), ops.end(), [&](const OpDifference& a, const OpDifference& b) {
        const std::int64_t one = std::abs(a.time.value), other = std::abs(b.time.value);
        return one != other ? one > other : bytes(a) > bytes(b);
    });
}

}  // namespace

Result<ScheduleDiff> compare(const Graph& graph, const Schedule& a, const Schedule& b) {
    const Result<Simulation> played_a = simulate(graph, a), played_b = simulate(graph, b);
    if (!played_a) return played_a.error();
    if (!played_b) return played_b.error();
    return compare(graph, {a.steps, *played_a, a.homes}, {b.steps, *played_b, b.homes});
}

Result<ScheduleDiff> compare(const Graph& graph, const std::vector<Step>& a, const std::vector<Step>& b) {
    Schedule of_a, of_b;
    of_a.steps = a;
    of_b.steps = b;
    return compare(graph, of_a, of_b);
}

ScheduleDiff compare(const Graph& graph, const PlayedSteps& of_a, const PlayedSteps& of_b) {
    const std::vector<Step>&a = of_a.steps, &b = of_b.steps;
    ScheduleDiff diff{.time_a = of_a.played.time,
                      .time_b = of_b.played.time,
                      .peak_a = of_a.played.peak,
                      .peak_b = of_b.played.peak,
                      .peak_step_a = of_a.played.peak_step,
                      .peak_step_b = of_b.played.peak_step,
                      .ops = {},
                      .more_time = {},
                      .fewer_time = {},
                      .left_time = {},
                      .came_time = {},
                      .host_a = host_use(graph, of_a),
                      .host_b = host_use(graph, of_b),
                      .in_b = std::vector<int>(a.size(), -1),
                      .in_a = std::vector<int>(b.size(), -1)};
    const StepsOf steps_a = steps_of(a), steps_b = steps_of(b);
    match_steps(steps_a, steps_b, diff);
    const auto held_a = on_device_during(graph, a, of_a.played.peak_step, of_a.homes);
    const auto held_b = on_device_during(graph, b, of_b.played.peak_step, of_b.homes);
    for (const OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        OpDifference found{.op = id,
                           .runs_a = runs_in(steps_a, id),
                           .runs_b = runs_in(steps_b, id),
                           .on_host_a = runs_in(steps_a, id, StepKind::run_host) > 0,
                           .on_host_b = runs_in(steps_b, id, StepKind::run_host) > 0,
                           .time = {},
                           .at_peak_a = held_outputs(graph, op, held_a),
                           .at_peak_b = held_outputs(graph, op, held_b)};
        const int more = found.runs_b - found.runs_a;
        const bool same_place = found.on_host_a == found.on_host_b;
        if (more == 0 && same_place && found.at_peak_a == found.at_peak_b) continue;
        found.time = Nanoseconds(op.time.value * more);
        count(found, op.time, diff);
        diff.ops.push_back(found);
    }
    sort_by_weight(diff.ops);
    return diff;
}

std::vector<RunDifference> run_differences(const std::vector<Step>& a, const std::vector<Step>& b) {
    std::map<OpId, RunDifference> runs;
    for (const Step& step : a) {
        if (step.runs()) ++runs[step.op()].a;
        if (step.kind == StepKind::run_host) runs[step.op()].on_host_a = true;
    }
    for (const Step& step : b) {
        if (step.runs()) ++runs[step.op()].b;
        if (step.kind == StepKind::run_host) runs[step.op()].on_host_b = true;
    }
    std::vector<RunDifference> found;
    for (const auto& [op, of] : runs)
        if (of.a != of.b || of.on_host_a != of.on_host_b)
            found.push_back({op, of.a, of.b, of.on_host_a, of.on_host_b});
    return found;
}

}  // namespace rematlas
