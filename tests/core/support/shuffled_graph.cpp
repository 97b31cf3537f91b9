#include "tests/core/support/shuffled_graph.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace rematlas {

Graph shuffled(const Graph& graph, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::int32_t> tensor(graph.tensors.size());
    std::iota(tensor.begin(), tensor.end(), 0);
    std::shuffle(tensor.begin(), tensor.end(), random);
    std::vector<std::int32_t> lacking(graph.ops.size(), 0), op(graph.ops.size(), -1), ready, order;
    std::vector<std::vector<std::int32_t>> readers(graph.tensors.size());
    std::vector<std::uint8_t> is_made(graph.tensors.size(), 0);
    for (const Op& one : graph.ops)
        for (const TensorId t : one.outputs) is_made[t.index()] = 1;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
        for (const TensorId t : graph.ops[OpId(static_cast<std::int32_t>(i))].inputs) {
            readers[t.index()].push_back(static_cast<std::int32_t>(i));
            lacking[i] += is_made[t.index()];
        }
        if (lacking[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
    }
    while (!ready.empty()) {
        std::swap(ready[random() % ready.size()], ready.back());
        const std::int32_t next = ready.back();
        ready.pop_back();
        op[next] = static_cast<std::int32_t>(order.size());
        order.push_back(next);
        for (const TensorId t : graph.ops[OpId(next)].outputs)
            for (const std::int32_t reader : readers[t.index()])
                if (--lacking[reader] == 0) ready.push_back(reader);
    }
    const auto renamed = [&](TensorId t) { return TensorId(tensor[t.index()]); };
    Graph made = graph;
    for (std::size_t t = 0; t < graph.tensors.size(); ++t)
        made.tensors[TensorId(tensor[t])] = graph.tensors[TensorId(static_cast<std::int32_t>(t))];
    for (std::size_t place = 0; place < order.size(); ++place) {
        Op one = graph.ops[OpId(order[place])];
        std::transform(one.inputs.begin(), one.inputs.end(), one.inputs.begin(), renamed);
        std::transform(one.outputs.begin(), one.outputs.end(), one.outputs.begin(), renamed);
        std::sort(one.inputs.begin(), one.inputs.end());
        for (auto& pair : one.inplace) pair = {.out = renamed(pair.out), .in = renamed(pair.in)};
        if (one.of) one.of = OpId(op[one.of->index()]);
        made.ops[OpId(static_cast<std::int32_t>(place))] = std::move(one);
    }
    std::transform(made.results.begin(), made.results.end(), made.results.begin(), renamed);
    return made;
}

}  // namespace rematlas
