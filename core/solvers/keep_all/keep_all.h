// No recomputation: every op once, in the graph's order, each tensor freed after its last use.
#pragma once

#include <memory>

#include "core/solving/solver_entry.h"

namespace rematlas {

/// The step without recomputation. Any graph; linear time. Infeasible when its peak exceeds the budget.
std::unique_ptr<Solver> make_keep_all(NoOptions = {});
extern const SolverEntry keep_all_solver;

}  // namespace rematlas
