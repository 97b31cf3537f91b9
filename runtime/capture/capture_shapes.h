// Captures from shapes alone: no weights are read, no kernel runs, no memory is taken.
//
//     Result<Graph> graph = capture_for("gpt2_xl.pt", {.inputs = specs}, *device_profile("h200"));
//
// The model runs on shape tensors of the device, so that choices that depend on the device (attention
// kernels, fused ops) are made as on the device. The ops and their tensors are those of a capture on the
// device; times and workspaces come from a cost model or from a profile of each op.
#pragma once

#include "core/costs/device_profile.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/capture.h"

namespace rematlas {

/// `device` tells where the model would run and how many bytes its allocator takes for a request. The
/// options of the profile are not used. Errors: those of `capture`, and "no shape function for ..." with
/// the op, the module path and the source line.
Result<CapturedStep> record_shapes(const std::filesystem::path& model, const CaptureOptions& options,
                                   DeviceRuntime& device);

/// Makes a graph for planning without the device: times and workspaces are those of the roofline model. The
/// graph holds nothing to replay, because it is not certain which kernels the device has.
Result<Graph> capture_for(const std::filesystem::path& model, const CaptureOptions& options,
                          const DeviceProfile& profile);

/// Makes a graph to train with, for a step that may not fit the device unscheduled: it is recorded from
/// shapes, and each op is then profiled on the device. The step has not run as a whole before `run
/// --verify`, which is the first to compare it.
Result<Graph> capture_op_by_op(const std::filesystem::path& model, const CaptureOptions& options,
                               DeviceRuntime& device);

}  // namespace rematlas
