// Captures from shapes alone: no weights are read, no kernel runs and no memory is taken.
//
//     Result<Graph> graph = capture_for("gpt2_xl.pt", {.inputs = specs}, *device_profile("h200"));
//
// The model runs on tensors without data whose device is the real one. So libtorch makes the choices that
// depend on the device (attention kernels, fused ops) as for tensors with data. Ops and tensors equal those
// of a capture on the device. Times come from a cost model (`capture_for`), or times and workspaces from a
// profile of each op (`capture_op_by_op`).
#pragma once

#include "core/costs/device_profile.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/capture.h"

namespace rematlas {

/// `device` says where the model would run and how many bytes its allocator takes for a request.
/// `options.profile` is ignored. Fails like `capture`, and with "no shape function for ..." followed by the
/// op, the module path and the source line.
Result<CapturedStep> record_shapes(const std::filesystem::path& model, const CaptureOptions& options,
                                   DeviceRuntime& device);

/// Makes a graph for planning without the device. Times come from the roofline model; workspaces of kernels
/// count as zero. The graph cannot be replayed, because it is not certain which kernels the device has.
Result<Graph> capture_for(const std::filesystem::path& model, const CaptureOptions& options,
                          const DeviceProfile& profile);

/// Makes a graph to train with, for a step that is perhaps too large for the device without a plan. The step
/// is recorded from shapes; then each op is profiled on the device. The whole step runs for the first time in
/// `rematlas run --verify`, which compares it with the original.
Result<Graph> capture_op_by_op(const std::filesystem::path& model, const CaptureOptions& options,
                               DeviceRuntime& device);

}  // namespace rematlas
