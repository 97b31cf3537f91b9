#include "runtime/capture/profile.h"

#include <algorithm>

#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

/// Bytes that a step takes for the outputs of its op.
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

std::int64_t median(std::vector<std::int64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

Result<void> profile(Graph& graph, Executor& executor, const std::vector<at::Tensor>& inputs,
                     const ProfileOptions& options) {
    const FlatGraph flat = flatten(graph);
    const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    std::vector<std::vector<std::int64_t>> times(graph.ops.size());
    const auto began = std::chrono::steady_clock::now();
    for (int replay = 0; replay < options.most_replays; ++replay) {
        if (replay >= options.fewest_replays && std::chrono::steady_clock::now() - began > options.time)
            break;
        Result<Replayed> step = executor.run(steps, inputs, {.time_ops = true, .measure_ops = true});
        if (!step) return step.error();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (!steps[i].runs()) continue;
            const StepMeasure& measure = step->steps[i];
            times[steps[i].op().index()].push_back(std::max<std::int64_t>(1, measure.end - measure.start));
            Bytes& workspace = graph.ops[steps[i].op()].workspace;
            workspace = std::max(workspace, Bytes(measure.workspace - bytes_taken(graph, steps[i])));
        }
        if (options.progress) options.progress(double(replay + 1) / options.most_replays);
    }
    for (OpId op : graph.ops.ids()) graph.ops[op].time = Nanoseconds(median(times[op.index()]));
    return {};
}

}  // namespace rematlas
