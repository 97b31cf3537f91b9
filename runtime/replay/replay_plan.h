// A schedule made ready to run on a bound model, with everything that can be computed before the first run.
//
//     Result<ReplayPlan> plan = ReplayPlan::make(model, schedule.steps, schedule.homes);
//     Result<ReplayPlan> halves = ReplayPlan::make_halves(model, schedule.steps, schedule.homes, 32);
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/schedule/schedule.h"
#include "runtime/replay/bound_model.h"
#include "runtime/replay/step_transfers.h"

namespace rematlas {

/// A part of the backward. When the part ends, some gradients are final, and no later step of the schedule
/// reads them.
struct BackwardPart {
    std::size_t end = 0;         ///< index of the step after the part's last step
    std::vector<int> gradients;  ///< positions in Tape::gradients
};

struct ReplayPlan {
    std::vector<Step> steps;
    IdVector<OpId, int> runs;                      ///< number of runs of each op
    IdVector<TensorId, std::size_t> read_end;      ///< index of the step after the last step whose op reads
                                                   ///< the tensor
    IdVector<TensorId, std::uint8_t> overwritten;  ///< whether some step writes over the tensor in place
    // The next three members are set only by `make_halves`.
    std::size_t loss_step = 0;         ///< index of the step that asks for the gradients of the outputs
    std::vector<BackwardPart> parts;   ///< the parts in order; the last part ends with the last step
    std::vector<TensorId> handed_out;  ///< outputs that only the caller holds after the loss
    std::shared_ptr<const StepTransferPlan> transfers;  ///< plan of the copies; null if nothing moves to the
                                                        ///< host

    bool stays(TensorId tensor) const { return !overwritten[tensor]; }
    bool reads_later(TensorId tensor, std::size_t step) const { return read_end[tensor] > step; }

    /// Fails if the executor does not support a step, or if a tensor cannot move. Fails if a random op comes
    /// later than in the captured order, and it is not known how far this op moves the generator. Cost:
    /// linear, plus the cost of packing the moved tensors.
    static Result<ReplayPlan> make(const BoundModel& model, std::span<const Step> steps,
                                   const Homes& homes = {});
    /// Plans a training step in two halves with the caller's loss between them. Ops that update counters are
    /// moved to the front, because the original runs them in its forward. Makes at most `most_parts` parts.
    /// Errors: as `make`. Also fails if the graph has its own loss, or if some output does not exist at the
    /// loss.
    static Result<ReplayPlan> make_halves(const BoundModel& model, std::span<const Step> steps,
                                          const Homes& homes, std::size_t most_parts);
};

}  // namespace rematlas
