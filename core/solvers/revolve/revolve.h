// Revolve: binomial checkpointing. "Algorithm 799: Revolve: an implementation of checkpointing for the
// reverse or adjoint mode of computational differentiation", Griewank and Walther, 2000.
//
// The graph is read as a chain of stages, as Rotor reads it: cut at articulation points. Assumes that all
// stages take the same time and all checkpoints the same memory; then, for a number of checkpoints, no
// schedule of the chain runs fewer stages forward. A stage runs with all that its backward part reads kept
// just before that part, never earlier. The number of checkpoints is the largest whose exact peak fits the
// budget. Where stages differ, Rotor is better. Any graph; one without at least two stages has the schedule
// without reruns only. Cost: stages^3.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/solving/solver_entry.h"

namespace rematlas {

struct RevolveOptions {
    int max_stages = 200;  ///< longer chains have their cheapest neighbours merged
};
void read_options(OptionReader& reader, RevolveOptions& options);

std::unique_ptr<Solver> make_revolve(RevolveOptions options = {});
extern const SolverEntry revolve_solver;

/// The least number of forward runs that only lead to a later stage (theorem 1 of the paper), for chains of
/// up to `stages` stages with up to `checkpoints` checkpoints beside the input: [checkpoints][stages].
std::vector<std::vector<std::int64_t>> revolve_advances(int checkpoints, int stages);

}  // namespace rematlas
