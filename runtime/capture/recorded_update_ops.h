// The step of an optimizer as it was recorded (capture/update_recorder.h), at the end of a captured step.
//
// An op of the name `recorded_update_op` stands for each part of the update: the update of one parameter if
// the optimizer goes from one parameter to the next, or the whole update if the optimizer works on lists
// (foreach). The op changes parameters and states for good, and its workspace is the most that the part
// holds at a time. So each resident is changed by one op. If each call were an op of its own, a parameter
// would be changed several times, and solvers would never rerun an op that reads the parameter before
// (core/schedule/update_order.h).
//
// These ops come after the whole backward, one after the other, as they do in a program that calls
// `optimizer.step()` there: gradients are still held when the step ends.
#pragma once

#include "runtime/capture/build_graph.h"
#include "runtime/capture/update_recorder.h"

namespace rematlas {

/// States become residents of the kind optimizer_state, which Tape::states names. The ops have no times. A
/// gradient whose layout differs from its parameter's is copied first, as autograd does when it
/// accumulates. After an error the step is incomplete. Errors: a tensor that the step does not know.
Result<void> add_recorded_update(CapturedStep& step, const RecordedUpdate& update,
                                 const DeviceRuntime& device);

}  // namespace rematlas
