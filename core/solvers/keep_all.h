// No recomputation: every op once, in the graph's order, each tensor freed after its last use.
#pragma once

#include <memory>

#include "core/solvers/solver.h"

namespace rematlas {

/// The step without recomputation. Any graph; linear time. Infeasible when its peak exceeds the budget.
std::unique_ptr<Solver> make_keep_all();

}  // namespace rematlas
