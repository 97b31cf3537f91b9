#include "core/planning/request.h"

#include <nlohmann/json.hpp>

#include "core/planning/pinned_solver.h"
#include "core/planning/registry.h"
#include "core/planning/solve_in_arena.h"
#include "core/planning/solve_with_queues.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

namespace {

using nlohmann::json;

bool has_option(const SolveRequest& request, const char* name) {
    return default_options(request.solver).contains(name);
}

/// Says whether the solver solves integer programs with the options of the request. If the solver has no
/// option to choose between integer programs and other methods, the answer is true.
bool solves_programmes(const SolveRequest& request) {
    json options = default_options(request.solver);
    if (request.options) options.update(*request.options);
    if (!options.contains("level_solver")) return true;
    return options["level_solver"] == "milp" || options.value("block_solver", "") == "checkmate";
}

void set_option(SolveRequest& request, const char* name, json value) {
    json options = request.options ? *request.options : json::object();
    options[name] = std::move(value);
    request.options = std::make_shared<const json>(std::move(options));
}

}  // namespace

void set_gap(SolveRequest& request, double gap) {
    request.limits.gap = gap;
    if (has_option(request, "gap")) set_option(request, "gap", gap);
}

Result<void> set_milp(SolveRequest& request, std::string_view library) {
    if (!has_option(request, "milp")) return Error{"solver " + request.solver + " uses no such library"};
    if (!solves_programmes(request))
        return Error{"solver " + request.solver +
                     " uses no such library with these options; a configuration with level_solver milp does"};
    set_option(request, "milp", library);
    return {};
}

Result<Copies> copies_for(const Graph& graph, std::string_view solver, Copies copies) {
    if (copies.what == Offload::none) return copies;
    if (!copies.links.both_ways() && graph.device) copies.links = graph.device->links;
    if (!copies.host_budget && graph.device && graph.device->host_memory.value > 0)
        copies.host_budget = graph.device->host_memory;
    if (!copies.links.both_ways())
        return Error{"the graph's device has no links to the host; --device-profile names a device that has"};
    const SolverEntry* entry = find_solver(solver);
    if (entry && !is_within(copies.what, entry->traits.copies)) {
        std::string able;
        for (const SolverEntry* other : all_solvers())
            if (is_within(copies.what, other->traits.copies))
                able += (able.empty() ? "; these do: " : ", ") + std::string(other->traits.name);
        return Error{"solver " + std::string(solver) + " does not plan copies of " +
                     std::string(to_string(copies.what)) + " to the host" + able};
    }
    return copies;
}

StepBytes step_bytes(const FlatGraph& graph) {
    return {.peak = keep_all_peak(graph), .resident = Bytes(graph.resident_bytes)};
}

Result<Outcome> solve(const Problem& problem, const SolveRequest& request, const Progress& progress) {
    const Result<Bytes> budget = bytes_of(request.budget, step_bytes(problem.flat));
    if (!budget) return budget.error();
    Result<std::unique_ptr<Solver>> solver = make_solver(request.solver, request.options.get());
    if (!solver) return solver.error();
    const Result<Copies> copies = copies_for(problem.graph, request.solver, request.copies);
    if (!copies) return copies.error();
    const Problem with_copies{problem.graph, problem.flat, *copies};
    if (problem.graph.boundary && !request.pins.empty())
        return Error{"pins are not kept in a compiled step, whose graph has a boundary"};
    if (has_queues(problem.graph) && !request.pins.empty())
        return Error{"pins are not kept in a graph with collectives that have a queue: plan without pins"};
    solver = under_pins(problem.graph, request.pins, solver.take());
    if (!solver) return solver.error();
    Result<Outcome> outcome = request.arena
                                  ? solve_in_arena(with_copies, **solver, *budget, request.limits, progress)
                                  : solve(with_copies, **solver, *budget, request.limits, progress);
    if (!outcome) return outcome;
    auto* schedule = std::get_if<Schedule>(&outcome->answer);
    if (!schedule) return outcome;
    schedule->config = request.options;
    schedule->pins = request.pins;
    if (Result<void> obeys = obeys_pins(problem.graph, schedule->steps, request.pins); !obeys)
        return obeys.error();
    return outcome;
}

Result<Outcome> solve(const Graph& graph, const SolveRequest& request, const Progress& progress) {
    const FlatGraph flat = flatten(graph);
    return solve(Problem{graph, flat}, request, progress);
}

}  // namespace rematlas
