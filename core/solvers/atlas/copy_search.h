// Atlas with copies to the host: answers without copies at larger budgets as starts, what is too much sent away,
// then annealing of runs and of what is away (annealing/anneal_copies.h). Where updates can run on the host, each start is
// taken twice, with all updates on the device and with all on the host that can run there (annealing/host_updates.h).
//
// The larger budgets are what the links can carry in a part of the step: a schedule with copies is near to one that
// only recomputes, with a budget that is larger by what is away at its peak.
#pragma once

#include "core/solvers/annealing/options.h"
#include "core/solving/solver.h"

namespace rematlas {

/// `problem.copies` allows some. Never worse than the answer without copies that it starts from, which has a share of
/// the time, and once more where copies gain little. Answers that the players refuse are not offered. Equal seeds give equal answers when moves end it.
Answer solve_with_copies(const Problem& problem, Bytes budget, const Limits& limits,
                         const AnnealingOptions& options, const Progress& progress);

}  // namespace rematlas
