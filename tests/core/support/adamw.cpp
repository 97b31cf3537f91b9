#include "tests/core/support/adamw.h"

#include <map>
#include <string>

namespace rematlas {

Graph with_adamw(Graph graph, const AdamwCosts& costs) {
    std::map<std::string, TensorId> parameters;
    for (TensorId t : graph.tensors.ids())
        if (graph.tensors[t].kind == TensorKind::parameter) parameters[graph.tensors[t].name + ".grad"] = t;
    std::vector<TensorId> others;
    for (const TensorId gradient : graph.results) {
        const auto parameter = parameters.find(graph.tensors[gradient].name);
        if (parameter == parameters.end()) {
            others.push_back(gradient);
            continue;
        }
        const Bytes bytes(graph.tensors[parameter->second].bytes.value * costs.state_bytes);
        const TensorId state = graph.tensors.push_back(
            {graph.tensors[parameter->second].name + ".state", bytes, TensorKind::optimizer_state});
        // Reads and writes the state and the parameter, and reads the gradient.
        const double moved = 2 * static_cast<double>(bytes.value) +
                             3 * static_cast<double>(graph.tensors[gradient].bytes.value);
        Op update;
        update.name = "adamw";
        update.phase = Phase::optimizer;
        update.time = Nanoseconds(1 + static_cast<std::int64_t>(moved / costs.device_bytes_per_second * 1e9));
        update.inputs = {parameter->second, state, gradient};
        update.mutates = {parameter->second, state};
        if (costs.host_bytes_per_second > 0)
            update.host_time =
                Nanoseconds(1 + static_cast<std::int64_t>(moved / costs.host_bytes_per_second * 1e9));
        graph.ops.push_back(std::move(update));
    }
    graph.results = std::move(others);
    return graph;
}

}  // namespace rematlas
