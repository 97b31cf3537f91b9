// Checkmate: the optimal schedule in the graph's order, by a mixed-integer program; and a solver that rounds
// the relaxation of this program.
//
//     auto checkmate = make_checkmate({.library = MilpLibrary::highs});
//     Answer answer = checkmate->solve(problem, budget, {.time = 60s}, progress);
//
// Source: Jain et al., "Checkmate" (MLSys 2020). staged_model.h describes the integer program and the class
// of its schedules.
#pragma once

#include <memory>

#include "core/milp/milp.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct CheckmateOptions {
    MilpLibrary library = milp_libraries().empty() ? MilpLibrary::highs : milp_libraries().front();
    double gap = 1e-6;  ///< relative gap at which the search ends
    /// Share of the time for atlas. The search starts from the schedule of atlas. Atlas gets this share, but
    /// at most 2 s. For large integer programs atlas gets 5 times this share, without a limit.
    double warm_up = 0.05;
};

/// Makes the solver. If it ends before the time limit, its answer is optimal in the class of staged_model.h,
/// to within the gap. The answer is never worse than the start (the schedule of atlas), which can be better
/// than all schedules of the class. With more than 600 required ops, the answer is the start. The bound holds
/// for the class. Memory and time grow with the square of the number of ops, so the solver is useful for
/// graphs of up to about 200 ops.
std::unique_ptr<Solver> make_checkmate(const CheckmateOptions& options = {});
extern const SolverEntry checkmate_solver;
void read_options(OptionReader& reader, CheckmateOptions& options);

struct CheckmateLpOptions {
    MilpLibrary library = CheckmateOptions{}.library;
    int draws = 32;  ///< number of roundings with random thresholds, besides the fixed thresholds
    std::uint64_t seed = 1;
};

/// Makes the solver with two-phase rounding (section 5 of the paper). The relaxation gives each tensor a
/// share between 0 and 1; tensors whose share reaches a threshold are kept, and as few ops as possible run
/// again. The solver tries all thresholds that make a difference, up to 64, and random thresholds. Of the
/// schedules that exceed the budget, it anneals those with the smallest peaks until they fit. If no rounded
/// schedule fits in the end, it solves the relaxation for smaller budgets. The answer is never worse than the
/// best of chen-greedy, chen-sqrt and dtr. With more than 600 required ops, the answer is this best one. The
/// bound comes from the relaxation alone.
std::unique_ptr<Solver> make_checkmate_lp(const CheckmateLpOptions& options = {});
extern const SolverEntry checkmate_lp_solver;
void read_options(OptionReader& reader, CheckmateLpOptions& options);

}  // namespace rematlas
