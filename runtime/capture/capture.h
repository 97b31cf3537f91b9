// Captures a TorchScript model or an exported program as a training graph that can be planned and replayed.
//
//     auto device = open_device("cpu");
//     Result<Graph> graph =
//         capture("model.pt", {.inputs = {*parse_input_spec("f32[8,3,112,112]")}}, **device);
//     write_graph(*graph, "model.graph.json");
//
// The stages are load, record, check and profile. `check` replays the step on a fresh copy of the model and
// compares outputs, gradients, buffers and the generator's state with the recorded ones, bit by bit. Then the
// model and its replay run a second step with other inputs and other weights, and two more steps if the
// backward reads values of tensors to decide how to compute gradients.
#pragma once

#include <filesystem>

#include "core/graph/graph.h"
#include "runtime/capture/record_step.h"

namespace rematlas {

/// Fails with one line that names the file, the input, or the op with its module path and source line. The
/// model file is not changed. Cost: about 6 to 14 steps of the model.
Result<Graph> capture(const std::filesystem::path& model, const CaptureOptions& options,
                      DeviceRuntime& device);

/// Calls the function `capture` with deterministic kernels in force. If an op has no deterministic kernel,
/// calls `capture` again under KernelSettings::lenient, and notes this in the graph's provenance. If the
/// device has no choice of kernels, only calls `capture`.
Result<Graph> with_deterministic_kernels(DeviceRuntime& device,
                                         const std::function<Result<Graph>()>& capture);

}  // namespace rematlas
