// Atlas with copies to the host. The search starts from answers without copies at larger budgets. It offloads
// the tensors for which there is no room on the device, and then anneals the runs and the times in which
// tensors are offloaded (annealing/anneal_copies.h). If updates can run on the host, each start is used
// twice: with all updates on the device, and with as many as possible on the host (annealing/host_updates.h).
//
// The larger budgets add the bytes that the links can carry in a part of the step. The reason is that a
// schedule with copies resembles a schedule that only recomputes under a larger budget. The difference
// between the budgets is the bytes that are offloaded at the peak.
#pragma once

#include "core/solvers/annealing/options.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Solves a problem with copies. `problem.copies` must allow some copies. The answer is never worse than the
/// answer without copies from which the search starts. The search for the answer without copies gets a share
/// of the time, and another share if copies gain little. Answers that the simulator refuses are not used.
/// Equal seeds give equal answers if the number of moves ends the search.
Answer solve_with_copies(const Problem& problem, Bytes budget, const Limits& limits,
                         const AnnealingOptions& options, const Progress& progress);

}  // namespace rematlas
