// Selective checkpointing for training without Rematlas: in PyTorch itself, or in torchtitan.
//
//     Result<CheckpointPolicy> policy = checkpoint_policy(graph, budget, {.time = 10s});
//     write_file(path, policy_text(graph, *policy));
//
// These programs cannot run every schedule. So the step is solved again within the class of schedules that
// they can run (core/solvers/selective). The exported files state the peak and the overhead of this solution.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "core/solvers/selective/selective.h"

namespace rematlas {

struct CheckpointPolicy {
    SelectivePlan plan;
    Bytes budget = {};
};

/// Chooses the tensors to save. Fails if the graph was not captured, if it ends with the optimizer's updates,
/// or if no choice fits the budget.
Result<CheckpointPolicy> checkpoint_policy(const Graph& graph, Bytes budget, const Limits& limits,
                                           const SaveClass& of = {});

/// Returns the budget of the schedule; its peak if it has no budget.
Bytes budget_of(const Schedule& schedule);

/// Like `checkpoint_policy`, within the budget of the schedule (`budget_of`). Also fails if the schedule was
/// made under pins.
Result<CheckpointPolicy> checkpoint_policy_for(const Graph& graph, const Schedule& schedule,
                                               const Limits& limits, const SaveClass& of = {});

/// Returns the text of a JSON file, "rematlas.policy". It lists the regions by module path. For each region
/// it lists the ops that the forward runs, in order, with the types and sizes of their tensors, and whether
/// their outputs are saved.
std::string policy_text(const Graph& graph, const CheckpointPolicy& policy);

/// Returns the value of torchtitan's option `--compile.full_recompute_save_ops`:
/// `layers.*.attention.wkv_a::aten.mm.default | ...`. Comment lines (#) above it state the regions, the peak
/// and the overhead. `policy` must be made with `SaveClass::by_selectors`.
std::string torchtitan_text(const Graph& graph, const CheckpointPolicy& policy);

}  // namespace rematlas
