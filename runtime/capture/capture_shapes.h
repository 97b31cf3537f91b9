// Captures from shapes alone: no weights are read, no kernel runs, no memory is taken.
//
//     Result<Graph> graph = capture_for("gpt2_xl.pt", {.inputs = specs}, *device_profile("h200"));
//
// The model runs on shape tensors of the device, so that choices that depend on it (attention kernels, fused
// ops) are its own. The ops and their tensors are those of a capture on the device; times and workspaces are
// left to a cost model or to a profile of op after op.
#pragma once

#include "core/costs/device_profile.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/capture.h"

namespace rematlas {

/// `device` says where the model would run and what its allocator makes of requests. Errors: those of
/// `capture`, and "no shape function for ..." with the op, the module path and the source line. Of the
/// options those of the profile do not matter.
Result<CapturedStep> record_shapes(const std::filesystem::path& model, const CaptureOptions& options,
                                   DeviceRuntime& device);

/// A graph for planning without the device: times and workspaces are those of the roofline model. It holds
/// nothing to replay, for which kernels the device has is not certain.
Result<Graph> capture_for(const std::filesystem::path& model, const CaptureOptions& options,
                          const DeviceProfile& profile);

/// A graph to train with, of a step that may not fit the device unscheduled: recorded from shapes, then
/// profiled op after op on the device. Nothing has run as a whole, so that `run --verify` is the first to
/// compare.
Result<Graph> capture_op_by_op(const std::filesystem::path& model, const CaptureOptions& options,
                               DeviceRuntime& device);

}  // namespace rematlas
