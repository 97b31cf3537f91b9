// Rotor: optimal persistent checkpointing of a heterogeneous chain. "Optimal checkpointing for heterogeneous
// chains: how to train deep neural networks with limited memory", Beaumont, Eyraud-Dubois, Herrmann, Joly and
// Shilova, 2019 (theorem 1).
//
// The graph is read as a chain of stages: its forward part is cut at articulation points (tensors through
// which all of the flow passes), and each backward op joins the stage whose tensors it reads. A dynamic
// programme over (first stage, last stage, memory) chooses, for each stage, between running it with all that
// its backward part reads kept, and running ahead to a checkpoint and coming back later. Beyond the paper:
// where the backward part of a stage reads the stage's own output and that is the checkpoint, it may stay and
// is not made twice.
//
// Optimal among memory-persistent schedules of that chain, up to the rounding of memory to slots (upwards, so
// that the budget is kept) and to what the chain does not see (running in place, tensors freed inside a
// stage's neighbour). Memory is tried from slightly above the budget downwards and the exact peak decides.
// Any graph; one without at least two stages falls back on the schedule without reruns. Cost: stages^3 / 3 *
// slots operations and stages^2 * slots * 4 bytes; at most `max_stages` stages, neighbours are merged beyond,
// and slots are reduced so that the tables stay within 4 GiB.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/solvers/solver.h"

namespace rematlas {

struct RotorOptions {
    int slots = 500;  ///< steps that the memory beside what is always there is divided into; fewer when sizes
                      ///< divide evenly
    int max_stages = 150;  ///< longer chains have their cheapest neighbours merged
};

/// Options from JSON (null: defaults): {"slots": 500, "max_stages": 150}.
Result<RotorOptions> rotor_options(const nlohmann::json* json);

std::unique_ptr<Solver> make_rotor(RotorOptions options = {});

}  // namespace rematlas
