// Dynamic tensor rematerialization (Kirisame et al., ICLR 2021) on a graph: `evict_online` on the trace of a
// program that calls the required ops in the graph's order and drops each tensor after its last use. The runs
// make the answer; their lifetimes as a run sequence are never longer than those of the simulation, so the
// peak may come out below the budget.
//
// Problem class: any graph. An online heuristic, never optimal by proof. Results stay once they are made.
#pragma once

#include <functional>
#include <memory>

#include "core/dtr/evict_online.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

void read_options(OptionReader& reader, DtrOptions& options);

struct GraphEviction {
    DtrOutcome outcome;
    RunSequence runs;  ///< of the graph's ops; a whole step where the outcome is ok
};

/// The simulation on a graph. `go_on` is asked now and then, with the outcome so far and the share done.
GraphEviction evict_on_graph(const FlatGraph& flat, Bytes budget, const DtrOptions& options,
                             const std::function<bool(const DtrOutcome&, double)>& go_on);

std::unique_ptr<Solver> make_dtr(DtrOptions options = {});
extern const SolverEntry dtr_solver;

}  // namespace rematlas
