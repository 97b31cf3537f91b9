// Times and workspaces of a step that was captured from shapes, measured op by op on the device, so that a
// step that does not fit there never runs.
#pragma once

#include <map>

#include "runtime/capture/build_graph.h"
#include "runtime/capture/profile.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Runs each distinct op alone, on operands with random contents (numbers in [0, 1), indices in range), and
/// frees them. Fills `time` and `workspace` of the graph's ops, and how far random ops move the generator.
/// `there`: tensors that are on the device already; ops that only read them use their memory. Memory: that
/// of the largest op, beside these. Errors: one line that names the op.
Result<void> profile_ops(CapturedStep& step, DeviceRuntime& device, const ProfileOptions& options,
                         const std::map<TensorId, c10::Storage>& there = {});

}  // namespace rematlas
