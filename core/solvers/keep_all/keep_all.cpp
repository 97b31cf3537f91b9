#include "core/solvers/keep_all/keep_all.h"

#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

Answer solve_by_keep_all(const Problem& problem, Bytes budget, const Limits&, const Progress&,
                         const NoOptions&) {
    Solution solution = solution_from(problem.flat, keep_all_sequence(problem.flat));
    if (solution.peak > budget) return infeasible_from(problem.flat, budget, solution.peak);
    return solution;
}

}  // namespace

std::unique_ptr<Solver> make_keep_all(NoOptions) {
    return std::make_unique<FunctionSolver<NoOptions>>(keep_all_solver, solve_by_keep_all, NoOptions());
}

constinit const SolverEntry keep_all_solver =
    solver_entry<NoOptions, make_keep_all>({.name = "keep-all",
                                            .summary = "no recomputation: every op once, in order",
                                            .config_type = "noremat",
                                            .boundary = true});

}  // namespace rematlas
