// Solving under a budget that bounds the arena: planned addresses, fragmentation included.
//
//     Result<Outcome> outcome = solve_in_arena(problem, *solver, Bytes(2 << 30), {.time = 60s});
//     outcome->schedule()->addresses->arena;   // at most the budget
#pragma once

#include "core/planning/solve.h"

namespace rematlas {

/// Solves for the budget and plans addresses. Where the arena is too large it solves again for a live budget
/// that is smaller by what was too much, or that lies between one that led to too large an arena and one that
/// nothing was found for. Attempts are short until an arena fits, the last is long. The schedule that
/// is returned has the least overhead of those that fit, and its addresses were checked. Infeasible, unless
/// proven for the budget itself, means that no schedule was found whose arena fits; `smallest_found` is the
/// smallest arena. Errors: those of `solve`; a plan that the checker refuses.
Result<Outcome> solve_in_arena(const Problem& problem, const Solver& solver, Bytes budget,
                               const Limits& limits, const Progress& progress = {});

}  // namespace rematlas
