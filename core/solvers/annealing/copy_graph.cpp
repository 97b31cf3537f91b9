#include "core/solvers/annealing/copy_graph.h"

#include <algorithm>
#include <numeric>

namespace rematlas::annealing {

namespace {

constexpr int kWaitLengths = 12;
constexpr std::int64_t kLongestWait = 8;  // part of the step
constexpr std::int64_t kShareOfSmall = 200;

void add_waits(CopyGraph& graph) {
    FlatGraph& flat = graph.flat;
    std::int64_t time = flat.base_time / kLongestWait;
    for (int i = 0; i < kWaitLengths && (time > 0 || i == 0); ++i, time /= 2) {
        graph.waits.push_back(flat.op_count++);
        flat.time.push_back(std::max<std::int64_t>(time, 1));
        flat.workspace.push_back(0);
        flat.inputs.begin.push_back(flat.inputs.begin.back());
        flat.outputs.begin.push_back(flat.outputs.begin.back());
        flat.inplace_begin.push_back(flat.inplace_begin.back());
        flat.required.push_back(0);
        flat.recomputable.push_back(1);
    }
}

void keep_small(CopyGraph& graph, Bytes least) {
    const std::vector<std::int64_t>& bytes = graph.flat.bytes;
    std::vector<std::int32_t> leaving;
    std::int64_t sum = 0;
    for (int t = 0; t < graph.flat.tensor_count; ++t) {
        if (!graph.may_leave[t]) continue;
        leaving.push_back(t);
        sum += bytes[t];
    }
    std::stable_sort(leaving.begin(), leaving.end(), [&](int a, int b) { return bytes[a] < bytes[b]; });
    std::int64_t small = 0;
    for (const int t : leaving) {
        small += bytes[t];
        if (bytes[t] == 0 || bytes[t] < least.value || small <= sum / kShareOfSmall) graph.may_leave[t] = 0;
    }
}

}  // namespace

CopyGraph copy_graph(const Problem& problem) {
    CopyGraph graph{.flat = problem.flat, .real_ops = problem.flat.op_count};
    const std::size_t tensors = problem.graph.tensors.size();
    const IdVector<TensorId, char> allowed = may_leave(problem.graph, problem.copies.what);
    graph.may_leave.assign(tensors, 0);
    graph.starts_on_host.assign(tensors, 0);
    graph.ends_on_host.assign(tensors, 0);
    for (const TensorId t : problem.graph.tensors.ids())
        graph.may_leave[t.index()] = allowed[t] && problem.flat.producer[t.index()] >= 0;
    keep_small(graph, problem.copies.links.least_copy);
    add_waits(graph);
    return graph;
}

}  // namespace rematlas::annealing
