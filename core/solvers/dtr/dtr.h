// Dynamic tensor rematerialization (Kirisame et al., ICLR 2021) on a graph: `evict_online` on the trace of a
// program that calls the required ops in the graph's order and drops each tensor after its last use. The runs
// make the answer; their lifetimes as a run sequence are never longer than those of the simulation, so the
// peak may come out below the budget.
//
// Problem class: any graph. An online heuristic, never optimal by proof. Results stay once they are made.
#pragma once

#include <memory>

#include "core/dtr/online_eviction.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

void read_options(OptionReader& reader, DtrOptions& options);

std::unique_ptr<Solver> make_dtr(DtrOptions options = {});
extern const SolverEntry dtr_solver;

}  // namespace rematlas
