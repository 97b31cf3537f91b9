// The optimizer's part of a captured step: a fused op for each parameter that has a gradient, in the order of
// the step as early as the gradient is final and nothing reads the parameter any more.
//
//     std::vector<OptimizerGroup> groups{{.optimizer = *Optimizer::from("adamw")}};
//     Result<void> added = add_optimizer(step, groups, device);
//
// So the states can go through the device one parameter after the other, and a gradient that the optimizer
// alone reads is no result of the step: it is freed when it has been used.
#pragma once

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

/// States and learning rates become residents of the kind optimizer_state, which Tape::states names. The ops
/// have no times. Gradients that lie differently from their parameter are copied first, as accumulating them
/// does. Errors: the parameter that cannot be updated so, and why; the step is not whole then.
Result<void> add_optimizer(CapturedStep& step, const std::vector<OptimizerGroup>& groups,
                           const DeviceRuntime& device);

}  // namespace rematlas
