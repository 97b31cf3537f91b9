// Segment checkpointing: "Training Deep Nets with Sublinear Memory Cost", Chen, Xu, Zhang and Guestrin, 2016.
//
// The forward ops, in the graph's order, are cut into segments. A tensor that a later segment's forward part
// reads is kept from the forward pass on (so every segment can be run again from what is kept); the other
// tensors of a segment are dropped after its forward part, and the segment is run again just before the first
// backward op that needs one of them. The last segment is never dropped.
//
// Assumes nothing of the graph: where the cut lies at an articulation point (one tensor through which all of
// the flow passes, residents aside) a segment keeps one tensor, elsewhere it keeps every tensor that crosses
// the cut. Ops that may run only once keep their outputs. Both solvers try cuts at articulation points only
// and cuts anywhere, and keep what is better. A heuristic: no answer is proven optimal, except that the
// schedule without reruns is returned when it fits.
#pragma once

#include <memory>

#include "core/solving/solver_entry.h"

namespace rematlas {

/// Section 4.1 of the paper: about sqrt(n) segments of equal length, whatever the budget. Infeasible when
/// they do not fit it. Cost: linear.
struct ChenSqrtOptions {
    int segments = 0;  ///< number of segments; 0: the square root of the number of forward ops, rounded
};

/// Section 4.3 (algorithm 3): a segment ends at the first allowed cut after more than b bytes of it were
/// made; b is swept over a geometric range and the plan of the least time that fits the budget is taken.
/// Cost: linear, times twice the number of thresholds.
struct ChenGreedyOptions {
    int thresholds = 100;  ///< values of b
};

void read_options(OptionReader& reader, ChenSqrtOptions& options);
void read_options(OptionReader& reader, ChenGreedyOptions& options);

std::unique_ptr<Solver> make_chen_sqrt(ChenSqrtOptions options = {});
extern const SolverEntry chen_sqrt_solver;
std::unique_ptr<Solver> make_chen_greedy(ChenGreedyOptions options = {});
extern const SolverEntry chen_greedy_solver;

}  // namespace rematlas
