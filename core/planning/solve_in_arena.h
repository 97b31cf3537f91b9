// Solves under a budget for the arena of planned addresses, fragmentation included.
//
//     Result<Outcome> outcome = solve_in_arena(problem, *solver, Bytes(2LL << 30), {.time = 60s});
//     outcome->schedule()->addresses->arena;   // at most the budget
#pragma once

#include "core/planning/solve.h"

namespace rematlas {

/// Solves for the budget and plans addresses. If the arena is too large, solves again for a smaller live
/// budget, that is, a budget for the bytes of live tensors. Once a live budget has led to no schedule, the
/// next one lies between that budget and the most recent one whose arena was too large. Attempts are short
/// until an arena fits; the last attempt is long. Of the schedules whose arenas fit, the one with the least
/// overhead is returned; its addresses are checked. `Infeasible` means that no schedule was found whose arena
/// fits, unless infeasibility is proven for the budget itself. `smallest_found` is then the smallest arena.
/// Errors: those of `solve`; the checker refuses the addresses.
Result<Outcome> solve_in_arena(const Problem& problem, const Solver& solver, Bytes budget,
                               const Limits& limits, const Progress& progress = {});

}  // namespace rematlas
