// Solves under a budget for the arena of planned addresses, fragmentation included.
//
//     Result<Outcome> outcome = solve_in_arena(problem, *solver, Bytes(2LL << 30), {.time = 60s});
//     outcome->schedule()->addresses->arena;   // at most the budget
#pragma once

#include "core/planning/solve.h"

namespace rematlas {

/// Solves for the budget and plans addresses. If the arena is too large, solves again for a smaller live
/// budget, that is, a budget for the bytes of live tensors. Once a live budget has led to no schedule, the
/// next one is between this live budget and the most recent live budget whose arena was too large.
/// Attempts are short until an arena fits; the last attempt is long. Of the schedules whose arenas fit, the
/// one with the least overhead is returned; its addresses are checked. If no attempt finds a schedule, the
/// `Infeasible` of `solve` is returned. If schedules are found, but no arena fits, an `Infeasible` is
/// returned whose `smallest_found` is the smallest arena. Errors: the errors of `solve`; the checker refuses
/// the addresses.
Result<Outcome> solve_in_arena(const Problem& problem, const Solver& solver, Bytes budget,
                               const Limits& limits, const Progress& progress = {});

}  // namespace rematlas
