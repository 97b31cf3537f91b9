// Revolve: binomial checkpointing. "Algorithm 799: Revolve: an implementation of checkpointing for the
// reverse or adjoint mode of computational differentiation", Griewank and Walther, 2000.
//
// The graph is read as a chain of stages that is cut at articulation points, as in Rotor. Revolve assumes
// that all stages take the same time and all checkpoints the same memory. Under these assumptions no schedule
// of the chain has fewer forward runs with the same number of checkpoints. The tensors that the backward
// part of a stage reads are made just before that part, never earlier. The number of checkpoints is the
// largest whose exact peak fits the budget. If stages differ, Rotor is better. Any graph is accepted; with
// fewer than two stages the only schedule is the one without reruns. Cost: stages^3.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/solving/solver_entry.h"

namespace rematlas {

struct RevolveOptions {
    int max_stages = 200;  ///< in longer chains, the cheapest neighbours are merged
};
void read_options(OptionReader& reader, RevolveOptions& options);

std::unique_ptr<Solver> make_revolve(RevolveOptions options = {});
extern const SolverEntry revolve_solver;

/// Counts the forward runs whose only purpose is to reach a later stage. Returns a table of the least number
/// of such runs, indexed by [checkpoints][stages] (theorem 1 of the paper). The table covers chains of up to
/// `stages` stages with up to `checkpoints` checkpoints besides the input.
std::vector<std::vector<std::int64_t>> revolve_advances(int checkpoints, int stages);

}  // namespace rematlas
