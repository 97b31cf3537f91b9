// A training step with pins, as a graph on which any solver can work (the graph under pins).
//
//     Result<PinnedStep> step = pinned_step(graph, pins);
//     Answer answer = solver->solve({step->graph, step->flat}, budget, limits, {});
//     RunSequence runs = on_original(*step, flatten(graph), runs_of_the_answer, budget);
//
// For a keep pin, each matched op is marked as an op that runs once.
//
// For a recompute pin, each op whose outputs must be made again gets a copy after the loss. In the graph's
// order, ops after the loss read the outputs of the copies; ops before the loss read the outputs of the ops
// themselves. A copy reads pinned tensors from other copies. The copies must wait for the loss: the last op
// of the loss makes a tensor of 0 bytes that each copy reads. If an op without a copy runs again after the
// loss, that run still reads the outputs of the ops themselves. So the graph allows slightly fewer schedules
// than the pins do. `on_original` compensates for most of this. Bounds are proven on `relaxed`, which allows
// slightly more schedules.
#pragma once

#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/pins/pinned_ops.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct PinnedStep {
    PinnedOps pinned;
    Graph graph;              ///< tensors of the original keep their ids
    FlatGraph flat;           ///< flat graph of `graph`
    std::vector<OpId> op_of;  ///< per op of `graph`: the op of the original that it runs
    /// Per tensor of `graph`: the tensor of the original; invalid for a tensor that only orders ops.
    std::vector<TensorId> tensor_of;
    /// A relaxation: no schedule of the original under the pins takes less time or memory than the best
    /// schedule of this graph. Without a recompute pin it equals `flat`. Pinned tensors that the forward
    /// makes have no bytes here, so it makes no difference whether an op reads the output of an op or of its
    /// copy.
    FlatGraph relaxed;
    /// Whether there is no recompute pin. If so, the schedules of `graph` are exactly the schedules that obey
    /// the pins.
    bool exact = false;
};

/// Fails as `pinned_ops` does. Cost: linear in the graph, for each pin.
Result<PinnedStep> pinned_step(const Graph& graph, const Pins& pins);

/// Turns a run sequence of `step.graph` into a run sequence of the original that obeys the pins. Runs of
/// copies become runs of their ops. If an op after the loss would read a pinned tensor that was made before
/// the end of the loss, the tensor is made again first. Runs that are no longer needed are left out if the
/// shorter sequence stays within the budget. The peak may be above the budget if the budget is too small to
/// make the tensors again.
RunSequence on_original(const PinnedStep& step, const FlatGraph& original, std::span<const std::int32_t> runs,
                        Bytes budget);

/// Translates steps of `step.graph`, with copies to the host or without, to steps of the original. In the
/// graph under pins, an op may have a second version that runs after the loss. The outputs of the two
/// versions stand for one tensor of the original. That tensor is on the device while at least one of the two
/// outputs is there; the same holds for the host. Steps that would change nothing are left out. The returned
/// steps hold at most as many bytes as `steps`. They can be invalid, because one of the two outputs may be
/// made while the other is being copied to or from the host. They can also break a recompute pin, if an op
/// that is not pinned runs again after the loss. So the caller must simulate and check the result.
std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps);

/// Says whether a run sequence of the original obeys the recompute pins: after the last op of the loss, no
/// run reads a pinned tensor that was made before that op had run.
bool makes_again(const PinnedOps& pinned, const FlatGraph& original, std::span<const std::int32_t> runs);

}  // namespace rematlas
