// OffMate: recomputation, together with copies of activations, weights, gradients and optimizer states to the
// host.
//
//     auto offmate = make_offmate();
//     const Problem problem{graph, flat, {.what = Offload::all, .links = links}};
//     Answer answer = offmate->solve(problem, budget, {.time = 10s}, {});
//
// Source: "OffMate" (2024), by the authors of Rockmate and HiRemate. The step is a sequence of blocks with
// several options each; equal blocks are solved once (hierarchical/block_table.h). A mixed-integer program
// chooses the options, and the fractions of all tensors that are on the host in each stage
// (block_programme.h). This program can split tensors, and its stages are whole blocks. So its choice is
// refined afterwards. First, the solution of a linear program on the runs is rounded to whole tensors so that
// the budget is kept (away_programme.h). Then the schedule with its copies is written while a clock follows
// it (copying_steps.h). Other sequences of runs are tried as well. Rockmate (HiRemate if the step is no
// sequence of blocks) finds them for larger budgets, because copies can make up for the difference. In these
// sequences blocks can run forward several times. Ops of the optimizer run right after the backward pass of
// the parameters that they update, with their states streamed through the device. A share of these ops can
// run on the host instead; the share is chosen so that the step is fastest. At the end, changes of single
// tensors are tried (`trials`). The answer is approximate. It is never worse than the answer of Rockmate
// (HiRemate) without copies, which is one of the candidates. If ops of the optimizer are in the middle of the
// step, only the graph's order of the ops is tried, and there is no such candidate. If nothing may be copied,
// the answer is this candidate alone.
#pragma once

#include <memory>

#include "core/hierarchy/training_tree.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solving/programme.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct OffmateOptions {
    PartitionOptions partition{.by = Partition::articulation};
    hierarchical::BlockTableOptions blocks;
    int slots = 500;             ///< slots of Rotor's table over the blocks
    int most_options = 500;      ///< options of all blocks together in the integer program (published:
                                 ///< nb_total_sched)
    int least_copy = 0;          ///< bytes; smaller tensors leave the device only if needed (see
                                 ///< Links::least_copy)
    double copy_price = 0.01;    ///< in the objective, a second of copying counts as this many seconds
    bool host_optimizer = true;  ///< whether ops of the optimizer may run on the host (published:
                                 ///< cpu_optimize)
    int sequences = 8;  ///< number of larger budgets for which sequences of runs are tried; as many again are
                        ///< tried near the best one
    int trials = 3000;  ///< how many changes of single tensors are tried at the end
    ProgrammeLimits programme{.time = std::chrono::seconds(5)};
};

std::unique_ptr<Solver> make_offmate(const OffmateOptions& options = {});
extern const SolverEntry offmate_solver;
void read_options(OptionReader& reader, OffmateOptions& options);

}  // namespace rematlas
