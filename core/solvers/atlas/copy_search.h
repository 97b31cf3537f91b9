// Atlas with copies to the host. It starts from answers without copies at larger budgets, sends away the
// tensors for which there is no room, and then anneals runs and gaps (annealing/anneal_copies.h). Where
// updates can run on the host, each start is taken twice: with all updates on the device, and with all that
// can on the host (annealing/host_updates.h).
//
// The larger budgets add what the links can carry in a part of the step: a schedule with copies is near to
// one that only recomputes, with a budget that is larger by the bytes that are away at its peak.
#pragma once

#include "core/solvers/annealing/options.h"
#include "core/solving/solver.h"

namespace rematlas {

/// `problem.copies` must allow some copies. Never worse than the answer without copies that the search
/// starts from. That answer has a share of the time, and another share if copies gain little. Answers that
/// the player refuses are not offered. Equal seeds give equal answers if moves end the search.
Answer solve_with_copies(const Problem& problem, Bytes budget, const Limits& limits,
                         const AnnealingOptions& options, const Progress& progress);

}  // namespace rematlas
