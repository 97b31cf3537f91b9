// Rockmate: a sequence of blocks, each with many ways to run it, and Rotor's dynamic programme over them.
//
//     auto rockmate = make_rockmate({});
//     Answer answer = rockmate->solve(problem, budget, {.time = 10s}, progress);
//
// Source: Zhao et al., "Rockmate" (ICML 2023). The forward part is cut where at most one tensor is read
// across. Each block gets options by annealing under limits on the bytes that it saves and on its peak;
// equal blocks are solved once. Large blocks get their options from nested blocks, as in HiRemate. The
// programme chooses for each block between its options and running forward again later. On a chain of single
// ops it is Rotor.
#pragma once

#include <memory>

#include "core/solvers/hierarchical/block_table.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct RockmateOptions {
    PartitionOptions partition{.by = Partition::articulation};
    hierarchical::BlockTableOptions blocks;
    int slots = 500;  ///< slots of the programme's table, see RotorTable
};

std::unique_ptr<Solver> make_rockmate(const RockmateOptions& options = {});
extern const SolverEntry rockmate_solver;
void read_options(OptionReader& reader, RockmateOptions& options);

/// Whether the forward part is a sequence of at least four blocks, none with more than half of the forward
/// ops. Only then does the programme have something to choose. Cost: near linear.
bool is_sequence_of_blocks(const Problem& problem);

}  // namespace rematlas
