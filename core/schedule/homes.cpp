#include "core/schedule/homes.h"

#include <algorithm>

namespace rematlas {
namespace {

std::string label_of(const Graph& graph, TensorId t) {
    return "tensor " + std::to_string(t.value) +
           (graph.tensors.contains(t) ? " (" + graph.tensors[t].name + ")" : "");
}

}  // namespace

Result<void> sound_homes(const Graph& graph, const Homes& homes) {
    const IdVector<TensorId, OpId> producer = producers(graph);
    IdVector<TensorId, char> lives_there(graph.tensors.size(), 0);
    const auto refuse = [&](const char* list, TensorId t, const char* why) {
        return Error{std::string(list) + " names " + label_of(graph, t) + why, ErrorKind::negative};
    };
    for (TensorId t : homes.on_host) {
        if (!graph.tensors.contains(t)) return refuse("home_on_host", t, ", which does not exist");
        if (lives_there[t]++) return refuse("home_on_host", t, " twice");
        const bool result = std::find(graph.results.begin(), graph.results.end(), t) != graph.results.end();
        if (producer[t].valid() && !result)
            return refuse("home_on_host", t, ", which is neither resident nor a result");
    }
    for (TensorId t : homes.stays) {
        if (!graph.tensors.contains(t) || producer[t].valid() || !lives_there[t])
            return refuse("stays", t, ", which is no resident with its home on the host");
    }
    return {};
}

IdVector<TensorId, char> on_device_at_start(const Graph& graph, const Homes& homes) {
    IdVector<TensorId, char> there(graph.tensors.size(), 1);
    for (TensorId t : homes.on_host) there[t] = 0;
    for (TensorId t : homes.stays) there[t] = 1;
    for (const Op& op : graph.ops)
        for (TensorId out : op.outputs) there[out] = 0;
    return there;
}

Bytes always_on_device(const Graph& graph, const std::vector<Step>& steps, const Homes& homes) {
    IdVector<TensorId, char> there = on_device_at_start(graph, homes);
    for (const Step& step : steps)
        if (step.kind == StepKind::free) there[step.tensor()] = 0;
    Bytes sum;
    for (TensorId t : graph.tensors.ids())
        if (there[t]) sum += graph.tensors[t].bytes;
    return sum;
}

Bytes residents_on_device(const Graph& graph, const Homes& homes) {
    const IdVector<TensorId, char> there = on_device_at_start(graph, homes);
    Bytes sum;
    for (TensorId t : graph.tensors.ids())
        if (there[t]) sum = sum + graph.tensors[t].bytes;
    return sum;
}

}  // namespace rematlas
