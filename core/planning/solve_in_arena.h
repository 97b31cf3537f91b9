// Solves under a budget that bounds the arena of planned addresses, fragmentation included.
//
//     Result<Outcome> outcome = solve_in_arena(problem, *solver, Bytes(2 << 30), {.time = 60s});
//     outcome->schedule()->addresses->arena;   // at most the budget
#pragma once

#include "core/planning/solve.h"

namespace rematlas {

/// Solves for the budget and plans addresses. If the arena is too large, the function solves again for a
/// smaller live budget. Once some live budget led to no schedule, the next one lies between that budget and
/// the last that led to too large an arena. Attempts are short until an arena fits, and the last attempt is
/// long. The returned schedule has the least overhead of the schedules whose arenas fit, and its addresses
/// were checked. Unless infeasibility is proven for the budget itself, `Infeasible` means that no schedule
/// was found whose arena fits, and `smallest_found` is the smallest arena. Errors: those of `solve`; a plan
/// that the checker refuses.
Result<Outcome> solve_in_arena(const Problem& problem, const Solver& solver, Bytes budget,
                               const Limits& limits, const Progress& progress = {});

}  // namespace rematlas
