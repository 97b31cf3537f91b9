// A step's selective checkpointing for executors of others: PyTorch's own, and torchtitan's.
//
//     Result<CheckpointPolicy> policy = checkpoint_policy(graph, budget, {.time = 10s});
//     write_file(path, policy_text(graph, *policy));
//
// The schedule of a solver is not cut down to what these executors can do: the step is solved again within
// their class (core/solvers/selective), whose peak and overhead the files tell.
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

/// Errors: a graph that was not captured, or whose step ends with an optimizer; no choice within the budget.
Result<CheckpointPolicy> checkpoint_policy(const Graph& graph, Bytes budget, const Limits& limits,
                                           const SaveClass& of = {});

/// What the schedule of a file may take: its budget, or where it names none its peak.
Bytes budget_of(const Schedule& schedule);

/// Within the budget of the schedule. Errors: as above; a schedule that was made under pins.
Result<CheckpointPolicy> checkpoint_policy_for(const Graph& graph, const Schedule& schedule,
                                               const Limits& limits, const SaveClass& of = {});

/// A JSON file, "rematlas.policy": the regions by the path of their module, and in each the ops that
/// forward runs, in order, with the types and sizes of their tensors, and whether they are saved.
std::string policy_text(const Graph& graph, const CheckpointPolicy& policy);

/// What torchtitan's `--compile.full_recompute_save_ops` takes, `layers.*.attention.wkv_a::aten.mm.default
/// | ...`, below lines of comment (#) that tell the regions, the peak and the overhead. `policy` is one by
/// selectors.
std::string torchtitan_text(const Graph& graph, const CheckpointPolicy& policy);

}  // namespace rematlas
