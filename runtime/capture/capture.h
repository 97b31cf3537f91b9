// Capture: a TorchScript model goes in, a training graph that can be planned and replayed comes out.
//
//     auto device = open_device("cpu");
//     Result<Graph> graph = capture("model.pt", {.inputs = {*parse_input_spec("f32[8,3,112,112]")}},
//     **device); write_graph(*graph, "model.graph.json");
//
// The stages are load, record, check, profile. `check` replays the step on a fresh copy of the model and
// compares outputs, gradients, buffers and the generator's state with the recorded ones, bit by bit; then
// both take a second step, with other inputs and other weights, and two more where gradients read values.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/profile.h"
#include "runtime/device/device.h"
#include "runtime/model/input_spec.h"
#include "runtime/model/training_step.h"

namespace rematlas {

struct CaptureOptions {
    std::vector<InputSpec> inputs;
    Loss loss = Loss::output;
    std::uint64_t seed = 1;  ///< of the values of the inputs and of the model's generator
    int threads = 1;         ///< of libtorch, during capture and later replay
    bool audit = true;       ///< see RecorderOptions
    ProfileOptions profile = {};
    std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// Errors: one line that names the file, the input, or the op with its module path and source line. The model
/// is not changed. Cost: about 6 to 14 steps of the model.
Result<Graph> capture(const std::filesystem::path& model, const CaptureOptions& options,
                      DeviceRuntime& device);

/// What was recorded as a graph that knows where it comes from, without times; `inputs` are the model's
/// tensors.
CapturedStep step_from(const Recording& recording, const Model& model, const std::vector<InputSpec>& inputs,
                       const CaptureOptions& options, const DeviceRuntime& device);

/// Writes the tape into the graph and validates both. Errors: one line that begins with `path`; what a file
/// cannot hold.
Result<void> make_replayable(CapturedStep& step, const std::filesystem::path& path);

}  // namespace rematlas
