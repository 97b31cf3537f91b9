// The optimizer's part of a captured step: a fused op for each parameter that has a gradient. The op comes
// as early in the order of the step as the gradient is final and nothing reads the parameter any more.
//
//     std::vector<OptimizerGroup> groups{{.optimizer = *Optimizer::from("adamw")}};
//     Result<void> added = add_optimizer(step, groups, device);
//
// Therefore the states can move through the device one parameter after the other. A gradient that only the
// optimizer reads is no result of the step: it is freed when it has been used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/capture/build_graph.h"
#include "runtime/device/device.h"
#include "runtime/model/optimizer.h"

namespace rematlas {

/// Parameters that are updated in the same way, with a learning rate of their own.
struct OptimizerGroup {
    Optimizer optimizer;
    std::vector<std::string> parameters = {};  ///< names; if empty, all parameters that have a gradient
};

/// The end of a step: how it uses the gradients.
struct StepEnd {
    /// Whether the gradients are added to those of earlier backwards. The sums are states of the step, one
    /// for each parameter (".grad"). They start as negative zeros, because adding to those changes no bit.
    bool sums = false;
    bool updates = true;  ///< whether the parameters are updated
    /// Before the updates the gradients are scaled so that the norm of all of them is at most this number,
    /// as torch.nn.utils.clip_grad_norm_ does. The norm is left in a state ("norm").
    std::optional<double> clip_norm = {};
    /// Whether the gradients are those of a scaled loss, as with torch.amp.GradScaler. First of all they
    /// are multiplied by a state ("inverse_scale"). If one of them is then not finite, no parameter is
    /// updated, and a state ("found_inf") is 1 instead of 0. Unless gradients are clipped, the updates
    /// divide them by a state ("scale"). GradScaler does either the one or the other, and the bits of the
    /// two differ.
    bool scaled = false;
};

/// States and learning rates become residents of the kind optimizer_state, which Tape::states names. The
/// ops have no times. A gradient whose layout differs from its parameter's is copied first, as autograd
/// does when it accumulates. After an error the step is incomplete. Errors: the parameter that cannot be
/// updated so, and why; clipping of gradients of several types.
Result<void> add_optimizer(CapturedStep& step, const std::vector<OptimizerGroup>& groups,
                           const DeviceRuntime& device, const StepEnd& end = {});

/// Changes the numbers (rates of decay, betas, momentum, ...) of updates that `add_optimizer` has added.
/// The ops, their states and their operands stay, and so schedules remain valid. Learning rates are states
/// and do not change here. Errors: a parameter that another optimizer updates.
Result<void> change_numbers(Tape& tape, const std::vector<OptimizerGroup>& groups);

}  // namespace rematlas
