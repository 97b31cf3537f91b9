// No recomputation: every op runs once, in the graph's order, and each tensor is freed after its last use.
#pragma once

#include <memory>

#include "core/solving/solver_entry.h"

namespace rematlas {

/// Makes the solver that never recomputes. It accepts any graph and takes linear time. The answer is
/// infeasible if the peak exceeds the budget.
std::unique_ptr<Solver> make_keep_all(NoOptions = {});
extern const SolverEntry keep_all_solver;

}  // namespace rematlas
