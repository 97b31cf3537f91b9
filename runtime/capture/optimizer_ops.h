// Adds the optimizer to a captured step: a fused op for each parameter that has a gradient. Each op comes as
// early in the step's order as possible: once the gradient is final and nothing reads the parameter any more.
//
//     std::vector<OptimizerGroup> groups{{.optimizer = *Optimizer::from("adamw")}};
//     Result<void> added = add_optimizer(step, groups, device);
//
// Because the ops run early, the states can stay on the host and be fetched for one parameter at a time. A
// gradient that only the optimizer reads is no result of the step: it is freed after its use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/capture/build_graph.h"
#include "runtime/device/device.h"
#include "runtime/model/optimizer.h"

namespace rematlas {

/// Parameters that are updated in the same way. Each group has its own learning rate.
struct OptimizerGroup {
    Optimizer optimizer;
    std::vector<std::string> parameters = {};  ///< names; if empty, all parameters that have a gradient
};

/// How the end of a step uses the gradients.
struct StepEnd {
    /// Whether the gradients are added to the gradients of earlier backwards. The sums are states of the
    /// step, one for each parameter (".grad"). They start as negative zeros: a number that is added to
    /// negative zero keeps its bits.
    bool sums = false;
    bool updates = true;  ///< whether the parameters are updated
    /// Before the updates, the gradients are scaled so that their total norm is at most this number, as
    /// torch.nn.utils.clip_grad_norm_ does. The norm is written to a state ("norm").
    std::optional<double> clip_norm = {};
    /// Whether the gradients are those of a scaled loss, as with torch.amp.GradScaler. The gradients are
    /// multiplied by a state ("inverse_scale"). If one of the products is not finite, no parameter is
    /// updated, and a state ("found_inf") is 1 instead of 0. With clipping, "inverse_scale" is the inverse of
    /// the scale. Without clipping, "inverse_scale" is 1, and the updates divide the gradients by a state
    /// ("scale"), as GradScaler does: multiplying by the inverse would give other bits.
    bool scaled = false;
};

/// Adds the ops. States and learning rates become residents of the kind optimizer_state, and are listed in
/// Tape::states. The ops have no times. A gradient whose layout differs from its parameter's is copied first,
/// as autograd does when it accumulates. Fails, naming the parameter and the reason, if a parameter cannot be
/// updated in this way; fails if gradients of several types are to be clipped. After an error the step is
/// incomplete.
Result<void> add_optimizer(CapturedStep& step, const std::vector<OptimizerGroup>& groups,
                           const DeviceRuntime& device, const StepEnd& end = {});

/// Changes the numbers (weight decay, betas, momentum, ...) of updates that `add_optimizer` has added. The
/// ops, their states and their operands stay as they are, so schedules remain valid. Learning rates are
/// states and do not change here. Fails if `groups` has no optimizer for a parameter that the ops update, or
/// an optimizer with another op.
Result<void> change_numbers(Tape& tape, const std::vector<OptimizerGroup>& groups);

}  // namespace rematlas
