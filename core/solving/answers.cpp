#include "core/solving/answers.h"

#include "core/bounds/least_footprint.h"

namespace rematlas {
namespace {

/// Says whether every op that takes time must run. If so, no schedule takes less time than one run of each
/// op.
bool all_required(const FlatGraph& graph) {
    for (int op = 0; op < graph.op_count; ++op) {
        if (!graph.required[op] && graph.time[op] > 0) return false;
    }
    return true;
}

}  // namespace

Solution solution_from(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    const SequenceCost cost = cost_of(graph, runs);
    Solution solution;
    solution.steps = lower(graph, runs);
    solution.time = Nanoseconds(cost.time);
    solution.peak = Bytes(cost.peak);
    solution.overhead = graph.overhead_of(cost.time);
    if (cost.time == graph.base_time && all_required(graph)) {
        solution.status = Status::optimal;
        solution.bound = Bound{1.0, 0.0, ScheduleClass::any_order};
    }
    return solution;
}

Infeasible infeasible_from(const PeakBound& needed, Bytes budget, std::optional<Bytes> smallest_found) {
    return {.needed = needed.bytes,
            .proven = needed.bytes > budget,
            .smallest_found = smallest_found,
            .op = needed.op,
            .dominant = needed.tensors};
}

Infeasible infeasible_from(const FlatGraph& graph, Bytes budget, std::optional<Bytes> smallest_found) {
    return infeasible_from(least_peak(graph), budget, smallest_found);
}

Infeasible infeasible_from(const Problem& problem, Bytes budget, std::optional<Bytes> smallest_found) {
    const Offload what = problem.copies.what;
    // While an op runs, the tensors that it uses are on the device. If weights may be copied, the bound
    // counts only the bytes of these tensors; otherwise it also counts all residents.
    const FlatGraph flat =
        what == Offload::none ? problem.flat : with_results_from_host(problem.graph, problem.flat);
    PeakBound needed = moves_weights(what) ? least_footprint(problem.graph, flat) : least_peak(flat);
    // Tensors that do not fit on the host must stay on the device, so a host budget can raise the bound.
    if (const auto& host = problem.copies.host_budget; host && moves_weights(what)) {
        PeakBound beside = least_peak_beside_host(problem.graph, problem.flat, *host);
        if (beside.bytes > needed.bytes) needed = std::move(beside);
    }
    Infeasible none = infeasible_from(needed, budget, smallest_found);
    none.over = class_within(problem.graph, what);
    return none;
}

std::optional<Solution> optimal_without_reruns(const FlatGraph& graph, Bytes budget) {
    const RunSequence runs = required_once(graph);
    if (cost_of(graph, runs).peak > budget.value) return std::nullopt;
    Solution solution = solution_from(graph, runs);
    solution.status = Status::optimal;
    solution.bound = Bound{.overhead = solution.overhead, .gap = 0, .over = ScheduleClass::any_order};
    return solution;
}

double gap_above(double overhead, double bound) {
    return overhead > bound ? (overhead - bound) / bound : 0;
}

bool is_none(double gap) {
    return gap <= 1e-9;
}

}  // namespace rematlas
