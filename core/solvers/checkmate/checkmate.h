// Checkmate: the optimal schedule in the graph's order as a mixed-integer programme, and its relaxation
// rounded.
//
//     auto checkmate = make_checkmate({.library = MilpLibrary::highs});
//     Answer answer = checkmate->solve(problem, budget, {.time = 60s}, progress);
//
// Source: Jain et al., "Checkmate" (MLSys 2020); the programme itself is described in staged_model.h, with
// the class of its schedules.
#pragma once

#include <memory>

#include "core/milp/milp.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct CheckmateOptions {
    MilpLibrary library = milp_libraries().empty() ? MilpLibrary::highs : milp_libraries().front();
    double gap = 1e-6;      ///< relative gap at which the search ends
    double warm_up = 0.05;  ///< share of the time for atlas, whose schedule is the start, at most 2 s of it
};

/// Optimal in its class when it ends before the limit; never worse than its start, which may be of another
/// class and better. The bound is over the class. Memory and time grow with the square of the ops: it is of
/// use for graphs of up to about 200 ops.
std::unique_ptr<Solver> make_checkmate(const CheckmateOptions& options = {});
extern const SolverEntry checkmate_solver;
void read_options(OptionReader& reader, CheckmateOptions& options);

struct CheckmateLpOptions {
    MilpLibrary library = CheckmateOptions{}.library;
    int draws = 32;  ///< random thresholds a tensor, beside the fixed ones
    std::uint64_t seed = 1;
};

/// Two-phase rounding (section 5 of the paper): the relaxation says which tensors are kept, and as few ops
/// as possible run for that. It tries all thresholds that make a difference, up to 64, and random ones. The
/// schedules that are least over the budget are repaired by annealing, each up to its first schedule within
/// the budget. If none gets there, the relaxation is solved for smaller budgets. Never worse than the best
/// of chen-greedy, chen-sqrt and dtr. The only bound is that of the relaxation.
std::unique_ptr<Solver> make_checkmate_lp(const CheckmateLpOptions& options = {});
extern const SolverEntry checkmate_lp_solver;
void read_options(OptionReader& reader, CheckmateLpOptions& options);

}  // namespace rematlas
