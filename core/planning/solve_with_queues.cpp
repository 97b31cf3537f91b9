#include "core/planning/solve_with_queues.h"

#include <algorithm>

#include "core/schedule/simulate.h"
#include "core/solving/beside_compute.h"
#include "core/solving/ordered_updates.h"

namespace rematlas {
namespace {

constexpr double kShareOfMoves = 0.1;  ///< of the time for one form, for moving its steps

/// Returns the graph with ordinary ops in place of collectives. Only ops for which `counts` have a time.
template <class Counts>
Graph without_queues(const Graph& graph, Counts counts) {
    Graph serial = graph;
    for (OpId id : serial.ops.ids()) {
        Op& op = serial.ops[id];
        if (!counts(op)) op.time = Nanoseconds(0);
        op.collective.reset();
    }
    return serial;
}

/// Returns `bound` of a graph whose least time is `base`, as a bound of the problem's graph.
Bound of_problem(const Problem& problem, Bound bound, std::int64_t base) {
    bound.overhead = std::max(
        1.0, problem.flat.overhead_of(static_cast<std::int64_t>(bound.overhead * static_cast<double>(base))));
    return bound;
}

}  // namespace

bool has_queues(const Graph& graph) {
    return std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) { return op.collective; });
}

std::vector<Graph> one_queue_each(const Graph& graph) {
    std::vector<Graph> graphs{without_queues(graph, [](const Op& op) { return !op.collective; })};
    for (const std::string& name : queues_of(graph).names)
        graphs.push_back(without_queues(
            graph, [&](const Op& op) { return op.collective && op.collective->queue == name; }));
    return graphs;
}

Solution with_collectives_beside(const Problem& problem, Solution solution, Bytes budget,
                                 const Limits& limits) {
    const std::optional<Links> links =
        problem.copies.what == Offload::none ? std::nullopt : std::optional(problem.copies.links);
    const MovedSteps moved{problem.graph, solution.homes, links, budget, problem.copies.host_budget};
    solution.steps = beside_compute(moved, std::move(solution.steps), limits);
    solution.status = Status::feasible;
    const Result<Simulation> played = simulate(problem.graph, solution.steps, solution.homes, links);
    if (!played) return solution;  // the caller checks the solution and tells what is wrong
    solution.time = played->time;
    solution.peak = played->peak;
    solution.overhead = problem.flat.overhead_of(played->time.value);
    return solution;
}

Answer solve_with_queues(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                         const Progress& progress) {
    Limits moving = limits, solving = limits;
    moving.time = share_of(limits.time, kShareOfMoves / 2);
    solving.time = share_of(limits.time, (1 - kShareOfMoves) / 2);
    std::optional<Answer> best;
    for (const bool is_hidden : {false, true}) {
        const Graph serial =
            without_queues(problem.graph, [&](const Op& op) { return !(is_hidden && op.collective); });
        const FlatGraph flat = flatten(serial);
        const auto told = [&](const ProgressReport& report) {
            ProgressReport ours = report;
            ours.overhead *= problem.flat.overhead_of(flat.base_time);
            ours.bound.reset();
            ours.fraction_done = report.fraction_done / 2;
            progress(ours);
        };
        Answer answer = solve_in_order({serial, flat, problem.copies}, solver, budget, solving,
                                       progress && !is_hidden ? Progress(told) : Progress());
        if (auto* found = std::get_if<Solution>(&answer)) {
            std::optional<Bound> bound;
            if (is_hidden && found->bound && found->bound->over >= ScheduleClass::any_order)
                bound = of_problem(problem, *found->bound, flat.base_time);
            *found = with_collectives_beside(problem, std::move(*found), budget, moving);
            found->bound = bound;
        }
        if (!best) {
            best = std::move(answer);
            continue;
        }
        auto *other = std::get_if<Solution>(&*best), *found = std::get_if<Solution>(&answer);
        if (!found) continue;
        if (other && other->time <= found->time)
            other->bound = found->bound;
        else
            best = std::move(answer);
    }
    return *std::move(best);
}

}  // namespace rematlas
