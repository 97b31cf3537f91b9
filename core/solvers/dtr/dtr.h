// Dynamic tensor rematerialization (Kirisame et al., ICLR 2021) on a graph. The solver runs `evict_online` on
// the trace of a program that runs the required ops in the graph's order and drops each tensor after its last
// use. The runs of the simulation are the answer. In the answer's schedule, no tensor is alive longer than in
// the simulation, so the peak is sometimes lower than in the simulation.
//
// Any graph is allowed. The method is an online heuristic, so its answers are never proven optimal. Results
// stay on the device once they are made.
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
    RunSequence runs;  ///< ops of the graph; a whole step if the outcome is ok
};

/// Simulates the eviction on a graph. `go_on` is called now and then with the outcome so far and the share of
/// the program that has run; if it returns false, the simulation stops.
GraphEviction evict_on_graph(const FlatGraph& flat, Bytes budget, const DtrOptions& options,
                             const std::function<bool(const DtrOutcome&, double)>& go_on);

std::unique_ptr<Solver> make_dtr(DtrOptions options = {});
extern const SolverEntry dtr_solver;

}  // namespace rematlas
