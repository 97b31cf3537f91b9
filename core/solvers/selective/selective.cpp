#include "core/solvers/selective/selective.h"

#include "core/solving/answers.h"

namespace rematlas {
namespace {

Answer solve_by_selective(const Problem& problem, Bytes budget, const Limits& limits,
                          const Progress& progress, const SelectiveOptions& options) {
    SelectiveAnswer answer = selective_plan(problem, budget, limits, options.of);
    if (Infeasible* none = std::get_if<Infeasible>(&answer)) return std::move(*none);
    Solution& solution = std::get<SelectivePlan>(answer).solution;
    if (progress) progress({solution.overhead, solution.peak, {}, 1.0});
    return std::move(solution);
}

}  // namespace

SelectiveAnswer selective_plan(const Problem& problem, Bytes budget, const Limits& limits,
                               const SaveClass& of) {
    const Deadline deadline(limits);
    const std::vector<Region> regions = checkpoint_regions(problem.graph, problem.flat);
    const SaveSearchResult found =
        search_save_set(problem.graph, problem.flat, regions, budget, of, deadline);
    if (!found.best) {
        Infeasible none = infeasible_from(problem, budget, Bytes(found.smallest_peak));
        if (regions.empty()) none.reason = "no call of a module in this graph can be checkpointed";
        return none;
    }
    SelectivePlan plan;
    for (const int chosen : found.best->save_set.regions) {
        const Region& region = regions[static_cast<std::size_t>(chosen)];
        plan.regions.push_back(region);
        plan.saved.emplace_back();
        for (int i = 0; i < region.rerun; ++i)
            if (found.best->save_set.saved[region.ops[i]]) plan.saved.back().push_back(region.ops[i]);
    }
    CheckpointedStep step = play(problem.graph, problem.flat, regions, found.best->save_set);
    plan.solution = {.steps = std::move(step.steps),
                     .time = Nanoseconds(step.time),
                     .peak = Bytes(step.peak),
                     .overhead = problem.flat.overhead_of(step.time)};
    return plan;
}

void read_options(OptionReader& reader, SelectiveOptions& options) {
    reader.flag("by_selectors", options.of.by_selectors);
    reader.integer("most_tried", options.of.most_tried, 0, 1 << 20);
}

std::unique_ptr<Solver> make_selective(SelectiveOptions options) {
    return std::make_unique<FunctionSolver<SelectiveOptions>>(selective_solver, solve_by_selective, options);
}

constinit const SolverEntry selective_solver = solver_entry<SelectiveOptions, make_selective>(
    {.name = "selective",
     .summary = "checkpointed modules with saved ops, as PyTorch's selective checkpointing runs them; "
                "heuristic"});

}  // namespace rematlas
