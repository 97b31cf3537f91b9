// Segment checkpointing: "Training Deep Nets with Sublinear Memory Cost", Chen, Xu, Zhang and Guestrin, 2016.
//
// The forward ops, in the graph's order, are cut into segments. A tensor that the forward part of a later
// segment reads is kept from the forward pass on, so that every segment can be rerun from kept tensors. The
// other tensors of a segment are dropped after its forward part, and the segment is rerun just before the
// first backward op that needs one of them. No tensor of the last segment is dropped.
//
// The graph may be any graph. If a segment ends at an articulation point (a cut where all data, except
// residents, flows through one tensor), it keeps that tensor. At any other cut it keeps every tensor that
// crosses the cut. The outputs of ops that may run only once are kept. Each of the two solvers first allows
// cuts at articulation points only, then cuts anywhere, and keeps the better result. The method is a
// heuristic. Only the schedule without reruns, which is returned if it fits, is proven optimal.
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
/// The solver tries values of b in a geometric range, and takes the fastest schedule that fits the budget.
/// Cost: linear, times twice the number of thresholds.
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
