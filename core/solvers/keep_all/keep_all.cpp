#include "core/solvers/keep_all/keep_all.h"

#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

class KeepAll final : public Solver {
  public:
    std::string_view name() const override { return "keep-all"; }
    std::string_view summary() const override { return "no recomputation: every op once, in order"; }

    Answer solve(const Problem& problem, Bytes budget, const Limits&, const Progress&) const override {
        Solution solution = solution_from(problem.flat, keep_all_sequence(problem.flat));
        if (solution.peak > budget) return infeasible_from(problem.flat, budget, solution.peak);
        return solution;
    }
};

}  // namespace

std::unique_ptr<Solver> make_keep_all(NoOptions) {
    return std::make_unique<KeepAll>();
}

constinit const SolverEntry keep_all_solver =
    solver_entry<NoOptions, make_keep_all>({.name = "keep-all", .config_type = "noremat", .boundary = true});

}  // namespace rematlas
