// Rotor: optimal persistent checkpointing of a heterogeneous chain. "Optimal checkpointing for heterogeneous
// chains: how to train deep neural networks with limited memory", Beaumont, Eyraud-Dubois, Herrmann, Joly and
// Shilova, 2019 (theorem 1).
//
// The graph is read as a chain of stages: its forward part is cut at articulation points (tensors through
// which all of the flow passes), and each backward op joins the stage whose tensors it reads. A dynamic
// programme over (first stage, last stage, memory) chooses, for each stage, between running it with all that
// its backward part reads kept, and running ahead to a checkpoint and coming back later. Beyond the paper: a
// checkpoint may stay, and is not made twice, if the backward part of the stage that makes it reads it.
//
// Optimal among memory-persistent schedules of that chain, in exact bytes. The chain does not see that ops
// run in place and that tensors are freed inside a stage's neighbour. Memory is therefore tried from
// slightly above the budget downwards, and the exact peak decides. Trade-offs between memory and time that
// gain little are left out only behind the first `slots` ones of a part of the chain; the budget is kept all
// the same. Captured models have up to 1,400 trade-offs in a part, and 150 stages whose sizes and times all
// differ have 4,000. Any graph is accepted; one without at least two stages falls back on the schedule
// without reruns.
//
// One table answers all budgets up to the one it was filled for, each with the very answer of its own solve:
//
//     std::unique_ptr<Solver> curve = make_rotor()->up_to(problem, largest_budget, limits);
//     for (Bytes budget : budgets) answers.push_back(curve->solve(problem, budget, limits, {}));
//
// Cost: stages^3 / 3 * trade-offs of a part at worst, and 16 bytes for each of stages^2 * trade-offs: 10 ms
// for captured models of up to 42 stages, 0.6 s at 101 and 4 s at 150 that all differ. Parts of equal stages
// are solved once: chains of equal layers cost stages^2, 3 s and 30 MB at 512 for all budgets, and are
// solved to the optimum. Long chains of stages that differ (`RotorTable::Splits::near`) cost stages^2 too, 5
// s at 256 and 14 s and 0.8 GB at 512 (on busy cores) for all budgets, less for small ones; the answers seen
// were at most 0.3 % above those of the whole table at 256. Beyond `max_stages` stages, neighbours are
// merged. With more than 150 stages, a table of 64 merged stages is filled first; it answers if the time
// ends before the other one is full. At 150 stages that all differ, `slots` is reduced to 2,900, which takes
// half a GiB.
#pragma once

#include <memory>

#include "core/solving/solver_entry.h"

namespace rematlas {

struct RotorOptions {
    int slots = 5000;      ///< trade-offs of a part of the chain that are all kept, see RotorTable
    int max_stages = 512;  ///< longer chains have their cheapest neighbours merged
};

void read_options(OptionReader& reader, RotorOptions& options);

std::unique_ptr<Solver> make_rotor(RotorOptions options = {});
extern const SolverEntry rotor_solver;

}  // namespace rematlas
