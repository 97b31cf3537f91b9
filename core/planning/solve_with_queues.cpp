#include "core/planning/solve_with_queues.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solving/answers.h"
#include "core/solving/beside_compute.h"
#include "core/solving/ordered_updates.h"

namespace rematlas {
namespace {

constexpr auto kTimeForAllKept = std::chrono::milliseconds(500);
constexpr double kShareOfMoves = 0.3;  ///< share of a form's time that is spent on moving its steps

/// A form in which the solver gets the graph and the budget (see the header).
struct Form {
    bool is_hidden;  ///< whether collectives take no time
    int rooms;       ///< the solver's budget is the whole budget minus `rooms` times `room_to_move`
};
constexpr std::array<Form, 6> kForms{{{true, 0}, {false, 0}, {true, 1}, {true, 2}, {false, 2}, {true, 4}}};
/// The least time of a form for each op of the graph. With less time a solver may find nothing in a large
/// graph.
constexpr auto kLeastForAnOp = std::chrono::microseconds(700);

/// Returns how many of `kForms` the time allows, at least 1.
std::size_t forms_within(const Graph& graph, const Limits& limits) {
    const auto each = std::max<std::int64_t>(
        1, std::chrono::nanoseconds(kLeastForAnOp).count() * static_cast<std::int64_t>(graph.ops.size()));
    return std::clamp<std::size_t>(static_cast<std::size_t>(limits.time.count() / each), 1, kForms.size());
}

/// Returns the most bytes that one collective reads and makes, without residents. These bytes are held longer
/// if the collective runs at the same time as compute.
Bytes room_to_move(const Graph& graph) {
    const IdVector<TensorId, OpId> producer = producers(graph);
    Bytes most;
    for (const Op& op : graph.ops) {
        if (!op.collective) continue;
        Bytes sum;
        for (TensorId t : op.inputs)
            if (producer[t].valid()) sum += graph.tensors[t].bytes;
        for (TensorId t : op.outputs) sum += graph.tensors[t].bytes;
        most = std::max(most, sum);
    }
    return most;
}

bool is_faster(const Answer& answer, const Answer& than) {
    const auto *found = std::get_if<Solution>(&answer), *other = std::get_if<Solution>(&than);
    return found && (!other || found->time < other->time);
}

/// Returns the graph with ordinary ops in place of collectives. Only ops for which `counts` returns true keep
/// their time.
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

/// Converts a bound for a graph with the base time `base` to a bound for the problem's graph.
Bound of_problem(const Problem& problem, Bound bound, std::int64_t base) {
    bound.overhead =
        problem.flat.overhead_of(static_cast<std::int64_t>(bound.overhead * static_cast<double>(base)));
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

Solution all_kept(const Graph& graph, const FlatGraph& flat) {
    Solution kept = solution_from(flat, keep_all_sequence(flat));
    if (!has_queues(graph)) return kept;
    const Bytes peak = kept.peak;
    return with_collectives_beside({graph, flat}, std::move(kept), peak, {.time = kTimeForAllKept});
}

Answer solve_with_queues(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                         const Progress& progress) {
    const std::span forms = std::span(kForms).first(forms_within(problem.graph, limits));
    const auto share = 1.0 / static_cast<double>(forms.size());
    Limits moving = limits, solving = limits;
    moving.time = share_of(limits.time, kShareOfMoves * share);
    solving.time = share_of(limits.time, (1 - kShareOfMoves) * share);
    const Bytes room = room_to_move(problem.graph);
    std::optional<Answer> best;
    std::optional<Bound> bound;
    for (const Form& form : forms) {
        const Bytes less(room.value * form.rooms);
        if (form.rooms > 0 && budget <= less) continue;
        const Graph serial =
            without_queues(problem.graph, [&](const Op& op) { return !(form.is_hidden && op.collective); });
        const FlatGraph flat = flatten(serial);
        const auto told = [&](const ProgressReport& report) {
            ProgressReport ours = report;
            ours.overhead *= problem.flat.overhead_of(flat.base_time);
            ours.bound.reset();
            ours.fraction_done = report.fraction_done * share;
            progress(ours);
        };
        Answer answer = solve_in_order({serial, flat, problem.copies}, solver, budget - less, solving,
                                       progress && !best ? Progress(told) : Progress());
        if (auto* found = std::get_if<Solution>(&answer)) {
            const bool is_proof = form.is_hidden && form.rooms == 0 && found->bound &&
                                  found->bound->over >= ScheduleClass::any_order;
            if (is_proof) bound = of_problem(problem, *found->bound, flat.base_time);
            found->bound.reset();
            *found = with_collectives_beside(problem, std::move(*found), budget, moving);
        }
        if (!best || is_faster(answer, *best)) best = std::move(answer);
    }
    if (auto* found = std::get_if<Solution>(&*best)) found->bound = bound;
    return *std::move(best);
}

}  // namespace rematlas
