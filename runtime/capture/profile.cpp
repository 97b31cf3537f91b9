#include "runtime/capture/profile.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/base/median.h"
#include "core/schedule/run_sequence.h"
#include "runtime/device/measured_time.h"
#include "runtime/replay/op_signature.h"

namespace rematlas {
namespace {

/// Returns the bytes that a step of a schedule allocates for the outputs of its op.
std::int64_t bytes_taken(const Graph& graph, const Step& step) {
    const Op& op = graph.ops[step.op()];
    std::int64_t bytes = 0;
    for (TensorId out : op.outputs) bytes += graph.tensors[out].bytes.value;
    if (step.kind == StepKind::run_inplace) {
        for (const InplacePair& pair : op.inplace)
            bytes -= std::min(graph.tensors[pair.out].bytes, graph.tensors[pair.in].bytes).value;
    }
    return bytes;
}

/// Ops that do the same work and share their measured times. Without pooling, each op has its own group.
struct Group {
    std::string work;
    std::vector<OpId> ops = {};
    std::vector<std::int64_t> times = {};
    Bytes workspace = {};
};

/// Describes the work of a run: the signature of the op, and, for each tensor that the op writes over,
/// whether the run copies this tensor first.
std::string work_of(const Graph& graph, const Tape& tape, const IdVector<TensorId, OpId>& producer,
                    const Step& step) {
    std::string work = signature_of(tape, step.op());
    for (const Overwrite& overwrite : tape.ops[step.op()].overwrites) {
        const bool for_good = !overwrite.after.valid();
        const bool copies = step.kind == StepKind::run || !producer[overwrite.before].valid();
        work += for_good ? "|updates" : copies ? "|copies" : "|overwrites";
        work += std::to_string(graph.tensors[overwrite.before].bytes.value);
    }
    return work;
}

std::vector<Group> groups_of(const Graph& graph, const Tape& tape, const std::vector<Step>& steps,
                             bool pool) {
    const IdVector<TensorId, OpId> producer = producers(graph);
    std::vector<Group> groups;
    std::unordered_map<std::string, std::size_t> known;
    for (const Step& step : steps) {
        if (!step.runs()) continue;
        std::string work = work_of(graph, tape, producer, step);
        std::size_t group = groups.size();
        if (pool) group = known.try_emplace(work, group).first->second;
        if (group == groups.size()) groups.push_back({.work = std::move(work)});
        groups[group].ops.push_back(step.op());
    }
    return groups;
}

/// Says whether the groups that take nine tenths of the time have at least `samples` samples each.
bool enough(const std::vector<Group>& groups, std::size_t samples) {
    double all = 0, sampled = 0;
    for (const Group& group : groups) {
        const double time = std::accumulate(group.times.begin(), group.times.end(), 0.0);
        all += time;
        if (group.times.size() >= samples) sampled += time;
    }
    return sampled >= 0.9 * all;
}

}  // namespace

Result<void> profile(Graph& graph, Executor& executor, const std::vector<at::Tensor>& inputs,
                     const ProfileOptions& options) {
    const FlatGraph flat = flatten(graph);
    const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    std::vector<Group> groups = groups_of(graph, executor.tape(), steps, options.pool);
    IdVector<OpId, std::size_t> group_of(graph.ops.size());
    for (std::size_t group = 0; group < groups.size(); ++group)
        for (OpId op : groups[group].ops) group_of[op] = group;

    const auto began = std::chrono::steady_clock::now();
    for (int replay = 0; replay < options.most_replays; ++replay) {
        const bool late = std::chrono::steady_clock::now() - began > options.time;
        const bool done = late || enough(groups, static_cast<std::size_t>(options.most_replays));
        if (replay >= options.fewest_replays && done) break;
        Result<Replayed> step = executor.run(steps, inputs, {.time_ops = true, .measure_ops = true});
        if (!step) return step.error();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (!steps[i].runs()) continue;
            const StepMeasure& measure = step->steps[i];
            Group& group = groups[group_of[steps[i].op()]];
            group.times.push_back(std::max<std::int64_t>(1, measure.end - measure.start));
            group.workspace =
                std::max(group.workspace, Bytes(measure.workspace - bytes_taken(graph, steps[i])));
        }
        if (options.progress) options.progress(double(replay + 1) / options.most_replays);
    }
    for (Group& group : groups) {
        const Nanoseconds time = counted_time(group.work, Nanoseconds(upper_median(group.times)));
        for (OpId op : group.ops) graph.ops[op].time = time, graph.ops[op].workspace = group.workspace;
    }
    return {};
}

}  // namespace rematlas
