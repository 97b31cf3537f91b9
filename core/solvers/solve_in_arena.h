// Solving under a budget that bounds the arena: planned addresses, fragmentation included.
//
//     Result<Outcome> outcome = solve_in_arena(problem, *solver, Bytes(2 << 30), {.time = 60s});
//     outcome->schedule()->addresses->arena;   // at most the budget
#pragma once

#include "core/solvers/solve.h"

namespace rematlas {

/// Solves for the budget, plans addresses, and where the arena is too large plans with more effort and then
/// solves again for a budget that is smaller by what was too much, within the time limit. The schedule that
/// is returned has the least overhead of those that fit, and its addresses were checked. Infeasible, unless
/// proven for the budget itself, means that no schedule was found whose arena fits; `smallest_found` is the
/// smallest arena. Errors: those of `solve`; a plan that the checker refuses.
Result<Outcome> solve_in_arena(const Problem& problem, const Solver& solver, Bytes budget,
                               const Limits& limits, const Progress& progress = {});

}  // namespace rematlas
