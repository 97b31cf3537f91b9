// Adds the recorded step of an optimizer (capture/update_recorder.h) to the end of a captured step.
//
// One op named `recorded_update_op` stands for each part of the update. A part updates one parameter if the
// optimizer updates the parameters one after another; if the optimizer works on lists (foreach), the whole
// update is one part. The op mutates parameters and states, and its workspace is the peak of the part's
// temporary tensors. So exactly one op changes each resident. If each call of the optimizer were one op,
// several ops would change a parameter, and solvers would never rerun an op that reads the parameter before
// it changes (core/schedule/update_order.h).
//
// These ops follow the backward, one after the other, as in a program that calls `optimizer.step()` after
// `backward()`. Gradients are still held when the step ends.
#pragma once

#include "runtime/capture/build_graph.h"
#include "runtime/capture/update_recorder.h"

namespace rematlas {

/// States become residents of the kind optimizer_state, and are listed in Tape::states. The ops have no
/// times. A gradient whose layout differs from its parameter's is copied first, as autograd does when it
/// accumulates. Fails if the step does not contain a tensor of the update; after an error the step is
/// incomplete.
Result<void> add_recorded_update(CapturedStep& step, const RecordedUpdate& update,
                                 const DeviceRuntime& device);

}  // namespace rematlas
