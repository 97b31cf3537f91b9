#include "core/planning/solve.h"

#include <algorithm>
#include <cmath>

#include "core/base/sizes.h"
#include "core/bounds/best_bound.h"
#include "core/bounds/least_footprint.h"
#include "core/bounds/least_memory.h"
#include "core/bounds/resident_traffic.h"
#include "core/checking/check.h"
#include "core/checking/check_pins.h"
#include "core/planning/registry.h"
#include "core/planning/solve_with_queues.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solving/answers.h"
#include "core/solving/ordered_updates.h"

namespace rematlas {

namespace {

constexpr auto kLongestQuickBound = std::chrono::milliseconds(200);
constexpr auto kLongestMemoryProof = std::chrono::seconds(1);
constexpr double kRounding = 1e-9;  // relative error of overheads, which are doubles

BoundLimits bound_limits(const Limits& limits) {
    return {.time = std::min<std::chrono::nanoseconds>(limits.time / 4, kLongestQuickBound),
            .stop = limits.stop};
}

/// Replaces the bound in the answer by a bound on all schedules that copy no more than the problem allows.
/// The solver's own bound stays if it also covers these schedules and is at least as large.
void raise_with_copies(const Problem& problem, Bytes budget, Infeasible& answer) {
    Infeasible proven = infeasible_from(problem, budget, answer.smallest_found);
    if (holds_for(answer.over, proven.over) && answer.needed >= proven.needed) return;
    proven.reason = std::move(answer.reason);
    answer = std::move(proven);
}

/// Raises the needed bytes to a bound on the peak. If no copies are allowed, this is the bound of
/// `least_memory`. If copies are allowed, it is the bound for schedules that keep the budget of the host.
void raise_by_memory(const Problem& problem, Bytes budget, const Limits& limits, Infeasible& answer) {
    const bool copies = problem.copies.what != Offload::none;
    const Bytes on_host =
        copies ? problem.copies.host_budget.value_or(keep_all_peak(problem.flat)) : Bytes(0);
    if (copies && on_host >= keep_all_peak(problem.flat) - budget)
        return;  // all bytes above the budget fit on the host, so no bound exceeds the budget
    const LeastMemoryLimits memory_limits{
        .time = std::min<std::chrono::nanoseconds>(limits.time / 4, kLongestMemoryProof),
        .stop = limits.stop,
        .budget = budget};
    PeakBound bound = copies ? least_memory_beside_host(problem.graph, problem.flat, on_host, memory_limits)
                             : least_memory(problem.flat, memory_limits);
    if (bound.bytes <= answer.needed) return;
    answer.needed = bound.bytes;
    answer.over = copies ? class_within(problem.graph, problem.copies.what) : ScheduleClass::any_order;
    answer.proven = answer.needed > budget;
    answer.op = bound.op;
    answer.dominant = std::move(bound.tensors);
    if (copies && problem.copies.host_budget)
        answer.reason = "with at most " + format_bytes(*problem.copies.host_budget) + " on the host";
}

/// If the bound on the overhead at a budget is infinite, no schedule fits that budget. Searches for the
/// largest such budget and raises the needed bytes above it. This budget can be above the largest footprint
/// of an op.
void raise_needed(const FlatGraph& graph, Bytes budget, const Limits& limits, Infeasible& answer) {
    const auto fits_none = [&](Bytes tried) {
        return std::isinf(overhead_lower_bound(graph, tried, bound_limits(limits)).overhead);
    };
    if (!answer.proven && !fits_none(budget)) return;
    Bytes low = std::max(budget, answer.needed - Bytes(1)),
          high = answer.smallest_found.value_or(keep_all_peak(graph));
    const auto end = std::chrono::steady_clock::now() + kLongestQuickBound;
    while (low + Bytes(1) < high && std::chrono::steady_clock::now() < end && !limits.stop.stop_requested()) {
        const Bytes middle((low.value + high.value) / 2);
        (fits_none(middle) ? low : high) = middle;
    }
    answer.needed = std::max(answer.needed, low + Bytes(1));
    answer.proven = answer.needed > budget;
}

/// Returns the links that the schedule's copies use.
Links links_of(const Problem& problem, const Schedule& schedule) {
    if (problem.copies.what != Offload::none) return problem.copies.links;
    if (schedule.links) return *schedule.links;
    return problem.graph.device ? problem.graph.device->links : Links{};
}

/// Sets a bound on all schedules of the class `over`. A bound from a solver that does not know copies would
/// hold for a smaller class only.
void bound_with_copies(const Problem& problem, Bytes budget, const Limits& limits, ScheduleClass over,
                       Schedule& schedule) {
    const bool activations_only = over == ScheduleClass::with_activation_copies;
    StepWithoutHostOps host;
    const FlatGraph flat = with_results_from_host(problem.graph, problem.flat);
    if (over == ScheduleClass::with_host_ops) host = step_without_host_ops(problem.graph, flat);
    const ProvenBound bound = best_bound(host.ops.empty() ? flat : host.device, budget,
                                         {.time = std::max(bound_limits(limits).time, limits.bound_time),
                                          .stop = limits.stop,
                                          .known = schedule.time.value,
                                          .host = fastest_of(links_of(problem, schedule), activations_only),
                                          .host_ops = host.ops});
    schedule.bound = Bound{bound.overhead, 0, over, bound.seconds, bound.nodes};
    if (activations_only || problem.flat.base_time == 0) return;
    const auto began = std::chrono::steady_clock::now();
    Copies copies = problem.copies;
    if (copies.what == Offload::none) copies.what = Offload::all;
    const std::int64_t traffic = resident_traffic(
        problem.graph, flat, {may_leave(problem.graph, copies), fastest_of(links_of(problem, schedule))},
        budget, {.stop = limits.stop});
    const double overhead = static_cast<double>(traffic) / static_cast<double>(problem.flat.base_time);
    schedule.bound->overhead = std::max(schedule.bound->overhead, overhead);
    schedule.bound->seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Returns the class of all schedules that the problem allows. If the problem allows no copies, returns the
/// class that the schedule itself belongs to.
ScheduleClass class_of(const Problem& problem, const Schedule& schedule) {
    const Offload what = problem.copies.what;
    if (what != Offload::none) return class_within(problem.graph, what);
    const ScheduleClass steps = class_of(schedule.steps);
    return steps == ScheduleClass::with_copies ? class_within(problem.graph, Offload::all) : steps;
}

/// Sets the fields about the host: homes, links, and the budget and the peak of the host. Errors: the
/// schedule cannot be simulated, or it copies more than the problem allows.
Result<void> add_host(const Problem& problem, Homes homes, Schedule& schedule) {
    schedule.homes = std::move(homes);
    if (class_of(schedule.steps) < ScheduleClass::with_copies && schedule.homes == Homes{}) return {};
    if (!problem.graph.device || problem.graph.device->links != problem.copies.links)
        schedule.links = problem.copies.links;
    schedule.host_budget = problem.copies.host_budget;
    const Result<Simulation> played = simulate(problem.graph, schedule);
    if (!played) return played.error();
    schedule.host_peak = played->host_peak;
    return keeps_to(problem.graph, problem.copies, schedule);
}

void raise_bound(const FlatGraph& graph, Bytes budget, const Limits& limits, Schedule& schedule) {
    const ProvenBound bound = best_bound(
        graph, budget, {.time = limits.bound_time, .stop = limits.stop, .known = schedule.time.value});
    const double before = schedule.bound ? schedule.bound->seconds : 0;
    const auto nodes = bound.nodes || !schedule.bound ? bound.nodes : schedule.bound->nodes;
    if (!schedule.bound || bound.overhead > schedule.bound->overhead)
        schedule.bound = Bound{bound.overhead, 0, ScheduleClass::any_order};
    schedule.bound->seconds = before + bound.seconds;
    schedule.bound->nodes = nodes;
}

/// Checks that the solver can plan the graph. Errors: the graph has a boundary, and either the solver does
/// not support boundaries, or copies to the host are allowed, or the graph has queues.
Result<void> knows_boundary(const Problem& problem, const Solver& solver) {
    if (!problem.graph.boundary) return {};
    if (has_queues(problem.graph))
        return Error{
            "collectives with a queue are not planned for a compiled step, whose graph has a boundary"};
    if (problem.copies.what != Offload::none)
        return Error{"copies to the host are not planned for a compiled step, whose graph has a boundary"};
    const SolverEntry* entry = find_solver(solver.name());
    if (entry && entry->traits.boundary) return {};
    std::string able;
    for (const SolverEntry* other : all_solvers())
        if (other->traits.boundary) able += (able.empty() ? "" : ", ") + std::string(other->traits.name);
    return Error{"solver " + std::string(solver.name()) +
                 " does not plan compiled steps, whose graphs have a boundary; these do: " + able};
}

/// Gives the schedule a bound on all schedules of the class `over` if it has none. If the class has no copies
/// and `limits.bound_time` is set, also looks for a larger bound.
void prove_bound(const Problem& problem, Bytes budget, const Limits& limits, ScheduleClass over,
                 Schedule& schedule) {
    if (over > ScheduleClass::any_order) {
        if (!schedule.bound) bound_with_copies(problem, budget, limits, over, schedule);
    } else if (limits.bound_time.count() > 0) {
        raise_bound(problem.flat, budget, limits, schedule);
    } else if (!schedule.bound) {
        const OverheadBound bound = overhead_lower_bound(problem.flat, budget, bound_limits(limits));
        if (bound.overhead > 0)
            schedule.bound = Bound{bound.overhead, 0, ScheduleClass::any_order, bound.seconds};
    }
}

/// Like `prove_bound`, for a graph with queues. Proves a bound for compute alone and for each queue alone,
/// and keeps the largest of these bounds.
void prove_bound_of_queues(const Problem& problem, Bytes budget, const Limits& limits, ScheduleClass over,
                           Schedule& schedule) {
    const auto base = static_cast<double>(problem.flat.base_time);
    for (const Graph& graph : one_queue_each(problem.graph)) {
        const FlatGraph flat = flatten(graph);
        if (flat.base_time == 0 || base == 0) continue;
        Schedule alone = schedule;
        alone.bound.reset();
        prove_bound({graph, flat, problem.copies}, budget, limits, over, alone);
        if (!alone.bound) continue;
        alone.bound->overhead *= static_cast<double>(flat.base_time) / base;
        const double before = schedule.bound ? schedule.bound->seconds : 0;
        if (!schedule.bound || alone.bound->overhead > schedule.bound->overhead) schedule.bound = alone.bound;
        schedule.bound->seconds = before + alone.bound->seconds;
    }
}

}  // namespace

Result<void> add_bound(const Problem& problem, Bytes budget, const Limits& limits, Schedule& schedule) {
    const ScheduleClass over = class_of(problem, schedule);
    const bool copies = over > ScheduleClass::any_order;
    if (copies && schedule.bound && !(schedule.bound->over && holds_for(*schedule.bound->over, over))) {
        schedule.bound.reset();
        schedule.status = "feasible";
    }
    const bool proven = schedule.bound && schedule.overhead <= schedule.bound->overhead * (1 + kRounding);
    if (!proven) {
        (has_queues(problem.graph) ? prove_bound_of_queues : prove_bound)(problem, budget, limits, over,
                                                                          schedule);
    }
    if (!schedule.bound) return {};
    if (schedule.bound->overhead > schedule.overhead * (1 + kRounding)) {
        return Error{"solver " + schedule.solver + " went below the proven bound " +
                     std::to_string(schedule.bound->overhead) + ", please report it"};
    }
    schedule.bound->overhead = std::min(schedule.bound->overhead, schedule.overhead);
    schedule.bound->gap = gap_above(schedule.overhead, schedule.bound->overhead);
    if (is_none(schedule.bound->gap)) schedule.status = "optimal";
    return {};
}

Result<void> obeys_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins) {
    const std::vector<std::string> broken = broken_pins(graph, steps, pins);
    if (broken.empty()) return {};
    return Error{"a schedule was made that breaks a pin, please report it: " + broken.front()};
}

Result<Schedule> checked(const Problem& problem, Solution solution, std::string_view solver, Bytes budget,
                         const Limits& limits) {
    Schedule schedule;
    schedule.graph = problem.graph.name;
    schedule.graph_sha256 = problem.graph.sha256;
    schedule.solver = solver;
    schedule.budget = budget;
    schedule.time = solution.time;
    schedule.overhead = solution.overhead;
    schedule.peak = solution.peak;
    schedule.bound = std::move(solution.bound);
    schedule.status = solution.status == Status::optimal ? "optimal" : "feasible";
    schedule.steps = std::move(solution.steps);
    const auto refused = [&](const std::string& why) {
        return Error{"solver " + schedule.solver +
                     " made a schedule that the checker refuses, please report it: " + why};
    };
    if (Result<void> sound = add_host(problem, std::move(solution.homes), schedule); !sound)
        return refused(sound.error().message);
    if (Result<void> bounded = add_bound(problem, budget, limits, schedule); !bounded) return bounded.error();
    if (const CheckReport report = check(problem.graph, schedule, budget); !report.ok())
        return refused(report.violations.front());
    return schedule;
}

Result<Outcome> solve(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress) {
    if (Result<void> knows = knows_boundary(problem, solver); !knows) return knows.error();
    const auto start = std::chrono::steady_clock::now();
    Answer answer = (has_queues(problem.graph) ? solve_with_queues : solve_in_order)(problem, solver, budget,
                                                                                     limits, progress);
    Outcome outcome;
    outcome.budget = budget;
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    outcome.seconds = seconds();
    if (auto* infeasible = std::get_if<Infeasible>(&answer)) {
        // `smallest_found` is the peak of some schedule. If the solver refused a budget that is not below
        // this peak, the schedule must be invalid for a reason other than memory. So it does not prove that
        // the peak is enough.
        if (infeasible->smallest_found && *infeasible->smallest_found <= budget)
            infeasible->smallest_found.reset();
        const bool copies = problem.copies.what != Offload::none;
        if (copies) raise_with_copies(problem, budget, *infeasible);
        raise_by_memory(problem, budget, limits, *infeasible);
        if (!copies) raise_needed(problem.flat, budget, limits, *infeasible);
        const bool is_over = outcome.seconds >= 0.9 * std::chrono::duration<double>(limits.time).count();
        if (!infeasible->proven && infeasible->reason.empty() && is_over)
            infeasible->reason = "the search ended with its time limit: a longer one may find some";
        outcome.answer = std::move(*infeasible);
        return outcome;
    }
    Result<Schedule> schedule =
        checked(problem, std::get<Solution>(std::move(answer)), solver.name(), budget, limits);
    if (!schedule) return schedule.error();
    schedule->solve_seconds = outcome.seconds = seconds();
    outcome.answer = schedule.take();
    return outcome;
}

}  // namespace rematlas
