#include "viz/report/plain_step.h"

#include "core/graph/flat_graph.h"
#include "core/planning/solve_with_queues.h"

namespace rematlas {

Schedule plain_step(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    Schedule plain;
    plain.graph = graph.name;
    plain.graph_sha256 = graph.sha256;
    plain.solver = "keep-all";
    Solution kept = all_kept(graph, flat);
    plain.time = kept.time;
    plain.overhead = kept.overhead;
    plain.peak = kept.peak;
    plain.steps = std::move(kept.steps);
    return plain;
}

}  // namespace rematlas
