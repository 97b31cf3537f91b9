#include "core/solvers/solve.h"

#include <nlohmann/json.hpp>

#include "core/schedule/check.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

Bytes keep_all_peak(const FlatGraph& graph) {
    return Bytes(cost_of(graph, keep_all_sequence(graph)).peak);
}

Result<Outcome> solve(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress) {
    const auto start = std::chrono::steady_clock::now();
    Answer answer = solver.solve(problem, budget, limits, progress);
    Outcome outcome;
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (auto* infeasible = std::get_if<Infeasible>(&answer)) {
        outcome.answer = std::move(*infeasible);
        return outcome;
    }
    Solution& solution = std::get<Solution>(answer);
    Schedule schedule;
    schedule.graph = problem.graph.name;
    schedule.graph_sha256 = problem.graph.sha256;
    schedule.solver = solver.name();
    schedule.budget = budget;
    schedule.time = solution.time;
    schedule.overhead = solution.overhead;
    schedule.peak = solution.peak;
    schedule.bound = solution.bound;
    if (schedule.bound)
        schedule.bound->gap = (schedule.overhead - schedule.bound->overhead) / schedule.bound->overhead;
    schedule.status = solution.status == Status::optimal ? "optimal" : "feasible";
    schedule.solve_seconds = outcome.seconds;
    schedule.steps = std::move(solution.steps);
    const CheckReport report = check(problem.graph, schedule, budget);
    if (!report.ok()) {
        return Error{
            "solver " + schedule.solver +
            " made a schedule that the checker refuses, please report it: " + report.violations.front()};
    }
    outcome.answer = std::move(schedule);
    return outcome;
}

Result<Outcome> solve(const Graph& graph, std::string_view name, const nlohmann::json* options, Bytes budget,
                      const Limits& limits, const Progress& progress) {
    Result<std::unique_ptr<Solver>> solver = make_solver(name, options);
    if (!solver) return solver.error();
    const FlatGraph flat = flatten(graph);
    Result<Outcome> outcome = solve(Problem{graph, flat}, **solver, budget, limits, progress);
    if (outcome && options) {
        if (auto* schedule = std::get_if<Schedule>(&outcome->answer))
            schedule->config = std::make_shared<const nlohmann::json>(*options);
    }
    return outcome;
}

}  // namespace rematlas
