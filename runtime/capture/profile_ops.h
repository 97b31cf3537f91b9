// Measures times and workspaces of a step that was captured from shapes, op by op on the device. So a step
// that does not fit on the device never has to run as a whole.
#pragma once

#include <map>

#include "runtime/capture/build_graph.h"
#include "runtime/capture/profile.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Runs each distinct op alone, on operands with random contents (numbers in [0, 1), indices in range). Frees
/// the operands after each op. Fills `time` and `workspace` of the graph's ops, and `draws` of the tape's
/// random ops. `there`: tensors that are on the device already; an op that only reads such a tensor uses its
/// memory. Besides `there`, the call needs the memory of the largest op. Fails with one line that names the
/// op.
Result<void> profile_ops(CapturedStep& step, DeviceRuntime& device, const ProfileOptions& options,
                         const std::map<TensorId, c10::Storage>& there = {});

}  // namespace rematlas
