// A training step under pins, as a graph that any solver can work on.
//
//     Result<PinnedStep> step = pinned_step(graph, pins);
//     Answer answer = solver->solve({step->graph, step->flat}, budget, limits, {});
//     RunSequence runs = on_original(*step, flatten(graph), runs_of_the_answer, budget);
//
// keep: the op is marked as one that runs once.
//
// recompute: each op whose results are to be made again gets a copy after the loss. Ops after the loss read what
// the copies make, those before it read what the ops themselves make; copies read from copies what is pinned as
// well. A tensor without bytes, made by the last op of the loss and read by each copy, holds the copies back
// until then. An op that is not pinned and runs again after the loss reads from the ops, not from the copies: the
// graph allows a little less than the pins do. `on_original` makes up for most of it, and proofs are made on
// `relaxed`, which allows a little more.
#pragma once

#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/pins/pinned_ops.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

struct PinnedStep {
    PinnedOps pinned;
    Graph graph;                      ///< tensors of the original have their ids
    FlatGraph flat;                   ///< of `graph`
    std::vector<OpId> op_of;          ///< per op of `graph`: the op of the original that it runs
    std::vector<TensorId> tensor_of;  ///< per tensor of `graph`: that of the original; invalid: an order
    /// No schedule of the original under the pins takes less time or memory than the best of these. Without a
    /// recompute pin it is `flat`. What the forward pass makes of pinned tensors has no bytes here, so that
    /// whether an op reads from the op or from its copy is all the same.
    FlatGraph relaxed;
    bool exact = false;  ///< the schedules of `graph` are just those that obey the pins: no recompute pin
};

/// Errors: those of `pinned_ops`. Cost: linear in the graph, for each pin.
Result<PinnedStep> pinned_step(const Graph& graph, const Pins& pins);

/// A run sequence of `step.graph` as one of the original that obeys the pins: copies become runs of their op, what
/// would be read from before the loss is made again, and runs that are not needed any more within the budget
/// are left out. The peak may be above the budget where the first could not be done within it.
RunSequence on_original(const PinnedStep& step, const FlatGraph& original, std::span<const std::int32_t> runs,
                        Bytes budget);

/// Whether a run sequence of the original reads nothing after the loss that recompute pins do not let it.
bool makes_again(const PinnedOps& pinned, const FlatGraph& original, std::span<const std::int32_t> runs);

}  // namespace rematlas
