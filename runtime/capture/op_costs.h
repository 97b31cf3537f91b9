// Predicts the times of a captured step from a device profile.
#pragma once

#include "core/costs/device_profile.h"
#include "runtime/capture/build_graph.h"

namespace rematlas {

/// Fills `time` of each op by the roofline model, and `host_time` of updates that can run on the profile's
/// host. Workspaces of kernels are unknown and stay zero. A recorded update takes as long as the calls that
/// it stands for; it keeps the workspace that was recorded, and runs only on the device.
void predict_costs(CapturedStep& step, const DeviceProfile& profile);

}  // namespace rematlas
