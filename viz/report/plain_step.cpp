#include "viz/report/plain_step.h"

#include "core/graph/flat_graph.h"
#include "core/planning/solve_with_queues.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

Schedule plain_step(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    Schedule plain;
    plain.graph = graph.name;
    plain.graph_sha256 = graph.sha256;
    plain.solver = "keep-all";
    plain.time = Nanoseconds(flat.base_time);
    plain.peak = keep_all_peak(flat);
    plain.steps = lower(flat, keep_all_sequence(flat));
    if (!has_queues(graph)) return plain;
    Solution beside = all_kept_beside(graph, flat);
    plain.time = beside.time;
    plain.overhead = beside.overhead;
    plain.steps = std::move(beside.steps);
    return plain;
}

}  // namespace rematlas
