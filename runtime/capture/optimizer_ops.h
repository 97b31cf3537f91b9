// The optimizer's part of a captured step: a fused op for each parameter that has a gradient, in the order of
// the step as early as the gradient is final and nothing reads the parameter any more.
//
//     std::vector<OptimizerGroup> groups{{.optimizer = *Optimizer::from("adamw")}};
//     Result<void> added = add_optimizer(step, groups, device);
//
// So the states can go through the device one parameter after the other, and a gradient that the optimizer
// alone reads is no result of the step: it is freed when it has been used.
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
    std::vector<std::string> parameters = {};  ///< by name; none: all that have a gradient
};

/// What becomes of the gradients of a step.
struct StepEnd {
    /// They are added to what earlier backwards have left in states of the step, one for each parameter
    /// (".grad", which start as negative zeros: adding to those changes no bit).
    bool sums = false;
    bool updates = true;  ///< the parameters are updated
    /// Before that they are scaled so that the norm of all of them is at most this, as
    /// torch.nn.utils.clip_grad_norm_ does. The norm is left in a state ("norm").
    std::optional<double> clip_norm = {};
    /// The gradients are those of a scaled loss, as with torch.amp.GradScaler. First of all they are multiplied by a
    /// state ("inverse_scale"). Where one is not finite then, no parameter is updated, and a state ("found_inf") is 1
    /// instead of 0. Unless gradients are clipped, the updates divide them by a state ("scale"); that class does either
    /// the one or the other, and their bits differ.
    bool scaled = false;
};

/// States and learning rates become residents of the kind optimizer_state, which Tape::states names. The ops
/// have no times. Gradients that lie differently from their parameter are copied first, as accumulating them
/// does. Errors: the parameter that cannot be updated so, and why; clipping of gradients of several types. The
/// step is not whole then.
Result<void> add_optimizer(CapturedStep& step, const std::vector<OptimizerGroup>& groups,
                           const DeviceRuntime& device, const StepEnd& end = {});

/// Gives updates that `add_optimizer` has added other numbers (rates of decay, betas, momentum, ...). The ops, their states and what
/// they take stay, and with them schedules. Learning rates are states. Errors: a parameter that another optimizer updates.
Result<void> change_numbers(Tape& tape, const std::vector<OptimizerGroup>& groups);

}  // namespace rematlas
