// The step of an optimizer as it was recorded (capture/update_recorder.h), at the end of a captured step.
//
// An op of the name `recorded_update_op` stands for each part of the update: for the update of one parameter
// where the optimizer goes from one to the next, for all of it where it works on lists (foreach). It changes
// parameters and states for good, and its workspace is what the part holds at most. So each resident is
// changed by one op; were each call an op of its own, a parameter would be changed several times, and solvers
// would run nothing again that reads it before (core/schedule/update_order.h).
//
// These ops come after the whole backward, one after the other, as they do in a program that calls
// `optimizer.step()` there: gradients are still held when the step ends.
#pragma once

#include "runtime/capture/build_graph.h"
#include "runtime/capture/update_recorder.h"

namespace rematlas {

/// States become residents of the kind optimizer_state, which Tape::states names. The ops have no times.
/// Gradients that lie differently from their parameter are copied first, as accumulating them does. Errors: a
/// tensor that the step does not know. The step is not whole then.
Result<void> add_recorded_update(CapturedStep& step, const RecordedUpdate& update,
                                 const DeviceRuntime& device);

}  // namespace rematlas
