// Rotor: optimal persistent checkpointing of a heterogeneous chain. "Optimal checkpointing for heterogeneous
// chains: how to train deep neural networks with limited memory", Beaumont, Eyraud-Dubois, Herrmann, Joly and
// Shilova, 2019 (theorem 1).
//
// The graph is read as a chain of stages. Its forward part is cut at articulation points (tensors through
// which all of the flow passes), and each backward op joins the stage whose tensors it reads. A dynamic
// program over (first stage, last stage, memory) chooses for each stage: either it runs and keeps everything
// that its backward part reads, or it runs ahead to a checkpoint and runs again later. As an extension to the
// paper, a checkpoint that the backward part of its own stage reads can stay, instead of being made twice.
//
// The answer is optimal among memory-persistent schedules of that chain, in exact bytes. The chain does not
// model ops that run in place, nor tensors that are freed inside a neighbouring stage, so a schedule can need
// less memory than the chain says. Therefore the solver tries memory limits from slightly above the budget
// downwards, and takes the first schedule whose exact peak fits. Each part of the chain has a list of
// trade-offs between memory and time, from the least memory up. The first `slots` of them are kept; after
// these, trade-offs that gain little are left out. Captured models have up to 1,400 trade-offs in a part; 150
// stages whose sizes and times all differ have 4,000. Any graph is accepted. A graph with fewer than two
// stages gets the schedule without reruns.
//
// One table answers all budgets up to the budget it was filled for. The answers are the same as from `solve`
// for a single budget:
//
//     std::unique_ptr<Solver> curve = make_rotor()->up_to(problem, largest_budget, limits);
//     for (Bytes budget : budgets) answers.push_back(curve->solve(problem, budget, limits, {}));
//
// Cost: at worst stages^3 / 3 * (trade-offs of a part) steps, and 16 bytes * stages^2 * (trade-offs of a
// part). That takes 10 ms for captured models of up to 42 stages. For stages that all differ, it takes 0.6 s
// for 101 stages and 4 s for 150. Equal parts are solved once, so chains of equal layers cost stages^2: at
// 512 stages, all budgets together take 3 s and 30 MB, and are solved to the optimum. Long chains of stages
// that differ (`RotorTable::Splits::near`) also cost stages^2: all budgets together take 5 s at 256 stages,
// and 14 s and 0.8 GB at 512 (on busy cores); small budgets cost less. At 256 stages, the times of measured
// answers were at most 0.3 % longer than with all splits. Beyond `max_stages` stages, neighbours are merged.
// With more than 150 stages, a table of 64 merged stages is filled first; it answers if the time ends before
// the other table is full. At 150 stages that all differ, `slots` is reduced to 2,900, which takes half a
// GiB.
#pragma once

#include <memory>

#include "core/solving/solver_entry.h"

namespace rematlas {

struct RotorOptions {
    int slots = 5000;      ///< trade-offs of each part of the chain that are kept without exception, see
                           ///< RotorTable
    int max_stages = 512;  ///< in longer chains, the cheapest neighbours are merged
};

void read_options(OptionReader& reader, RotorOptions& options);

std::unique_ptr<Solver> make_rotor(RotorOptions options = {});
extern const SolverEntry rotor_solver;

}  // namespace rematlas
