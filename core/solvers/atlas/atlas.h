// The default solver: annealing on the flat run sequence, from greedy starts and those of published solvers.
//
//     auto atlas = make_atlas({});
//     Answer answer = atlas->solve(problem, budget, {.time = 5s}, {});
//
// Class of schedules: any order of the ops, any reruns, runs in place. Where the problem allows copies to
// the host, schedules have these, too, and ops of the optimizer that run there (copy_search.h). Without
// copies the solver is anytime: the first answer is the schedule without reruns when it fits (then it is
// optimal), else a greedy one, in milliseconds; annealing improves it until the time is over, the gap is at
// most `limits.gap`, or nothing better has come for several times as many moves as it took to find the best.
// Memory: linear in the graph and in the number of runs. Equal seeds, options and graphs give equal answers
// when `max_moves` ends the search and not the time.
#pragma once

#include <memory>

#include "core/solvers/annealing/options.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

std::unique_ptr<Solver> make_atlas(const AnnealingOptions& options = {});
extern const SolverEntry atlas_solver;

}  // namespace rematlas
