// The default solver: annealing of the run sequence, without any division into blocks. It starts from greedy
// schedules and from answers of published solvers.
//
//     auto atlas = make_atlas({});
//     Answer answer = atlas->solve(problem, budget, {.time = 5s}, {});
//
// Class of schedules: any order of the ops, any reruns, runs in place. If the problem allows copies to the
// host, schedules may have copies, and ops of the optimizer may run on the host (copy_search.h). Without
// copies, the first answer takes milliseconds: the schedule without reruns if it fits (then it is optimal),
// else a greedy schedule. Annealing then improves the answer. It ends when the time is over, when the gap is
// at most `limits.gap`, or when the moves since the best schedule are several times the moves until then.
// Memory: linear in the graph and in the number of runs. Equal seeds, options and graphs give equal answers
// if `max_moves` ends the search, not the time.
#pragma once

#include <memory>

#include "core/solvers/annealing/options.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

std::unique_ptr<Solver> make_atlas(const AnnealingOptions& options = {});
extern const SolverEntry atlas_solver;

}  // namespace rematlas
