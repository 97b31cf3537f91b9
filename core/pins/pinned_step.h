// A training step under pins, as a graph that any solver can work on.
//
//     Result<PinnedStep> step = pinned_step(graph, pins);
//     Answer answer = solver->solve({step->graph, step->flat}, budget, limits, {});
//     RunSequence runs = on_original(*step, flatten(graph), runs_of_the_answer, budget);
//
// keep: the op is marked as one that runs once.
//
// recompute: each op whose outputs are to be made again gets a copy after the loss. Ops after the loss read
// the outputs of the copies, and ops before it read the outputs of the ops themselves. A copy also reads
// pinned tensors from copies. A tensor of 0 bytes, made by the last op of the loss and read by each copy,
// holds the copies back until the loss has run. An op that is not pinned and runs again after the loss reads
// from the ops, not from the copies, so the graph allows a little less than the pins do. `on_original` makes
// up for most of this. Bounds are proven on `relaxed`, which allows a little more.
#pragma once

#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/pins/pinned_ops.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

struct PinnedStep {
    PinnedOps pinned;
    Graph graph;                      ///< tensors of the original keep their ids
    FlatGraph flat;                   ///< of `graph`
    std::vector<OpId> op_of;          ///< per op of `graph`: the op of the original that it runs
    std::vector<TensorId> tensor_of;  ///< per tensor of `graph`: the original's; invalid: it only orders ops
    /// A relaxation: no schedule of the original under the pins takes less time or memory than the best
    /// schedule of this graph. Without a recompute pin it is `flat`. Pinned tensors that the forward pass
    /// makes have no bytes here, so that it makes no difference whether an op reads from an op or from its
    /// copy.
    FlatGraph relaxed;
    bool exact = false;  ///< no recompute pin: the schedules of `graph` are those that obey the pins
};

/// Errors: those of `pinned_ops`. Cost: linear in the graph, for each pin.
Result<PinnedStep> pinned_step(const Graph& graph, const Pins& pins);

/// Turns a run sequence of `step.graph` into one of the original that obeys the pins. Copies become runs of
/// their ops. Pinned tensors that an op would read from before the loss are made again. Runs that are not
/// needed any more are left out, if the sequence stays within the budget. The peak may be above the budget
/// where the tensors cannot be made again within it.
RunSequence on_original(const PinnedStep& step, const FlatGraph& original, std::span<const std::int32_t> runs,
                        Bytes budget);

/// Whether a run sequence of the original obeys the recompute pins: once the loss has run, no run reads a
/// pinned tensor that was made before.
bool makes_again(const PinnedOps& pinned, const FlatGraph& original, std::span<const std::int32_t> runs);

}  // namespace rematlas
