// A schedule made ready to run on a bound model: everything that can be known before the first run.
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

/// A part of the second half: at its end some gradients are final, and nothing reads them later.
struct BackwardPart {
    std::size_t end = 0;         ///< the step after its last one
    std::vector<int> gradients;  ///< places in Tape::gradients
};

struct ReplayPlan {
    std::vector<Step> steps;
    IdVector<OpId, int> runs;                      ///< how often each op runs
    IdVector<TensorId, std::size_t> read_end;      ///< the step after the last one whose op reads the tensor
    IdVector<TensorId, std::uint8_t> overwritten;  ///< some step writes over the tensor in place
    std::size_t loss_step = 0;         ///< of halves: the step that asks for the gradients of the outputs
    std::vector<BackwardPart> parts;   ///< in halves: the parts in order; the last one ends with the steps
    std::vector<TensorId> handed_out;  ///< in halves: outputs that only the caller holds from the loss on
    std::shared_ptr<const StepTransferPlan> transfers;  ///< null if nothing moves to the host

    bool stays(TensorId tensor) const { return !overwritten[tensor]; }
    bool reads_later(TensorId tensor, std::size_t step) const { return read_end[tensor] > step; }

    /// Errors: a step that the executor does not support; tensors that cannot move; random ops in an order
    /// in which the generator cannot be kept where the original has it. Cost: linear, plus that of packing
    /// the moved tensors.
    static Result<ReplayPlan> make(const BoundModel& model, std::span<const Step> steps,
                                   const Homes& homes = {});
    /// The same for a step in two halves with the caller's loss between them. Counters are moved to the
    /// front, because the original counts in its forward. At most `most_parts` parts are made. Errors: also
    /// a graph with a loss of its own, and a schedule that does not have all outputs at the loss.
    static Result<ReplayPlan> make_halves(const BoundModel& model, std::span<const Step> steps,
                                          const Homes& homes, std::size_t most_parts);
};

}  // namespace rematlas
