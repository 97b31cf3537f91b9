// Segment checkpointing: "Training Deep Nets with Sublinear Memory Cost", Chen, Xu, Zhang and Guestrin, 2016.
//
// The forward ops, in the graph's order, are cut into segments. A tensor that the forward part of a later
// segment reads is kept from the forward pass on, so that every segment can be rerun from kept tensors. The
// other tensors of a segment are dropped after its forward part, and the segment is rerun just before the
// first backward op that needs one of them. The last segment is never dropped.
//
// The graph may be any graph. At an articulation point (one tensor through which all data flows, except
// residents) a segment keeps one tensor. At any other cut it keeps every tensor that crosses the cut. Ops
// that may run only once keep their outputs. Both solvers try cuts at articulation points only and cuts
// anywhere, and keep the better result. The method is a heuristic. Only the schedule without reruns, which is
// returned if it fits, is proven optimal.
#pragma once

#include <memory>

#include "core/solving/solver_entry.h"

namespace rematlas {

/// Section 4.1 of the paper: about sqrt(n) segments of equal length, whatever the budget. The answer is
/// infeasible if the schedule with these segments exceeds the budget. Cost: linear.
struct ChenSqrtOptions {
    int segments = 0;  ///< number of segments; 0: rounded square root of the number of forward ops
};

/// Section 4.3 (algorithm 3): a segment ends at the first allowed cut after it has made more than b bytes.
/// The solver tries values of b in a geometric range, and takes the plan with the least time that fits the
/// budget. Cost: linear, times twice the number of thresholds.
struct ChenGreedyOptions {
    int thresholds = 100;  ///< number of values of b
};

void read_options(OptionReader& reader, ChenSqrtOptions& options);
void read_options(OptionReader& reader, ChenGreedyOptions& options);

std::unique_ptr<Solver> make_chen_sqrt(ChenSqrtOptions options = {});
extern const SolverEntry chen_sqrt_solver;
std::unique_ptr<Solver> make_chen_greedy(ChenGreedyOptions options = {});
extern const SolverEntry chen_greedy_solver;

}  // namespace rematlas
