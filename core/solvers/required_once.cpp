#include "core/solvers/required_once.h"

#include "core/bounds/one_moment.h"

namespace rematlas {

RunSequence required_once(const FlatGraph& graph) {
    RunSequence runs;
    for (int op = 0; op < graph.op_count; ++op) {
        if (graph.required[op]) runs.push_back(op);
    }
    return runs;
}

std::optional<Solution> optimal_without_reruns(const FlatGraph& graph, Bytes budget) {
    const RunSequence runs = required_once(graph);
    if (cost_of(graph, runs).peak > budget.value) return std::nullopt;
    Solution solution = solution_from(graph, runs);
    solution.status = Status::optimal;
    solution.bound = Bound{.overhead = solution.overhead, .gap = 0, .over = kOverheadBoundClass};
    return solution;
}

}  // namespace rematlas
