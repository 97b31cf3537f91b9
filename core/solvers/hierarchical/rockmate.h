// Rockmate: a sequence of blocks, each with many ways to run it, and Rotor's dynamic program over the
// sequence.
//
//     auto rockmate = make_rockmate({});
//     Answer answer = rockmate->solve(problem, budget, {.time = 10s}, progress);
//
// Source: Zhao et al., "Rockmate" (ICML 2023). The forward part is cut where at most one tensor crosses the
// cut. Each block gets options by annealing under limits on its saved bytes and on its peak; equal blocks are
// solved once. Large blocks get their options from nested blocks, as in HiRemate. For each block, the dynamic
// program chooses one of its options, or a forward run that saves nothing now and another forward run later.
// On a chain of single ops, Rockmate is the same as Rotor.
#pragma once

#include <memory>

#include "core/solvers/hierarchical/block_table.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct RockmateOptions {
    PartitionOptions partition{.by = Partition::articulation};
    hierarchical::BlockTableOptions blocks;
    int slots = 500;  ///< slots of the dynamic program's table, see RotorTable
};

std::unique_ptr<Solver> make_rockmate(const RockmateOptions& options = {});
extern const SolverEntry rockmate_solver;
void read_options(OptionReader& reader, RockmateOptions& options);

/// Says whether the forward part is a sequence of at least four blocks, none of which has more than half of
/// the forward ops. In other steps the dynamic program has little to choose. Cost: nearly linear.
bool is_sequence_of_blocks(const Problem& problem);

}  // namespace rematlas
