#include "core/schedule/held.h"

#include <algorithm>

#include "core/schedule/homes.h"

namespace rematlas {
namespace {

/// Returns for each tensor whether it is on the device after the first `count` steps.
IdVector<TensorId, char> held_after(const Graph& graph, const std::vector<Step>& steps, std::size_t count,
                                    const Homes& homes) {
    IdVector<TensorId, char> held = on_device_at_start(graph, homes);
    for (std::size_t i = 0; i < count; ++i) {
        const Step& step = steps[i];
        if (step.kind == StepKind::free) held[step.tensor()] = 0;
        if (step.kind == StepKind::fetch) held[step.tensor()] = 1;
        if (!step.runs()) continue;
        const Op& op = graph.ops[step.op()];
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace) held[pair.in] = 0;
        for (TensorId out : op.outputs) held[out] = 1;
    }
    return held;
}

}  // namespace

Bytes Held::total() const {
    Bytes sum = workspace;
    for (const HeldTensor& one : tensors) sum += one.bytes;
    return sum;
}

Held held_during(const Graph& graph, const std::vector<Step>& steps, std::size_t at, const Homes& homes) {
    const IdVector<TensorId, char> before = held_after(graph, steps, at, homes);
    IdVector<TensorId, Bytes> bytes(graph.tensors.size());
    for (TensorId t : graph.tensors.ids())
        if (before[t]) bytes[t] = graph.tensors[t].bytes;
    Held held;
    const Step& step = steps[at];
    if (step.kind == StepKind::fetch) bytes[step.tensor()] = graph.tensors[step.tensor()].bytes;
    if (step.runs()) {
        const Op& op = graph.ops[step.op()];
        held.workspace = op.workspace;
        for (TensorId out : op.outputs) bytes[out] += graph.tensors[out].bytes;
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace)
                bytes[pair.in] -= std::min(graph.tensors[pair.out].bytes, graph.tensors[pair.in].bytes);
    }
    for (TensorId t : graph.tensors.ids())
        if (bytes[t].value > 0) held.tensors.push_back({t, bytes[t]});
    return held;
}

}  // namespace rematlas
