// OffMate: recomputation together with copies to the host of activations, weights, gradients and optimizer
// states.
//
//     auto offmate = make_offmate();
//     const Problem problem{graph, flat, {.what = Offload::all, .links = links}};
//     Answer answer = offmate->solve(problem, budget, {.time = 10s}, {});
//
// Source: "OffMate" (2024), of the authors of Rockmate and HiRemate. The step is a sequence of blocks with
// several options each; equal blocks are solved once (hierarchical/block_table.h). A mixed-integer programme
// chooses the options, and the fractions of all tensors that are away in each stage (block_programme.h). Its
// fractions are of bytes and its stages are blocks, so its choice is made exact in two more steps: a linear
// programme on the runs themselves, rounded to whole tensors so that the budget is kept (away_programme.h),
// and the writing of the steps with their copies, against a clock (copying_steps.h). Other sequences of runs
// are tried, too: those that Rockmate makes at larger budgets (HiRemate if the step is no sequence of
// blocks), as if copies could make up for the difference. Their blocks may also run forward several times.
// Ops of the optimizer follow the backward pass of the parameters that they update, with their states
// streamed through the device; or they run on the host, as many of them as pay. In the end single tensors
// are tried anew (`trials`). Approximate; never worse than the answer of Rockmate (HiRemate) without copies,
// which is one of the candidates. If nothing may be copied, that is the answer.
#pragma once

#include <cstdint>
#include <memory>

#include "core/hierarchy/training_tree.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solving/programme.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct OffmateOptions {
    PartitionOptions partition{.by = Partition::articulation};
    hierarchical::BlockTableOptions blocks;
    int slots = 500;             ///< of Rotor's table over the blocks
    int most_options = 500;      ///< of all blocks together, in the programme (published: nb_total_sched)
    int least_copy = 0;          ///< bytes: smaller tensors stay where others can go (see Links::least_copy)
    double copy_price = 0.01;    ///< of link time in the objective, as a share of time
    bool host_optimizer = true;  ///< ops of the optimizer may run on the host (published: cpu_optimize)
    int sequences = 8;  ///< larger budgets that are tried for sequences of runs, and as many near the best
    int trials = 3000;  ///< of single tensors at the end
    ProgrammeLimits programme{.time = std::chrono::seconds(5)};
};

std::unique_ptr<Solver> make_offmate(const OffmateOptions& options = {});
extern const SolverEntry offmate_solver;
void read_options(OptionReader& reader, OffmateOptions& options);

}  // namespace rematlas
