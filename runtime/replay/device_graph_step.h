// A training step that was captured as graphs of the device (CUDA graphs) and is repeated as a whole.
//
//     if (const auto obstacle = device_graph_obstacle(graph, tape, steps)) ...  // *obstacle says why
//
// A graph repeats the same kernels on the same addresses, without the host's work between them. So no op may
// wait for the device, read or make tensors in host memory, or have a shape that depends on values. The count
// of numbers that a random op draws must be known.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/replay/replay_run.h"

namespace rematlas {

/// Returns nothing if the steps can be captured, else a text that names the first obstacle and says why it
/// is one. Only graph, tape and steps are examined, so the capture may still fail. Steps before and after
/// `output_gradients_op` are captured separately. Cost: linear in the steps and in the arguments of their
/// ops.
std::optional<std::string> device_graph_obstacle(const Graph& graph, const Tape& tape,
                                                 std::span<const Step> steps);

class DeviceGraphStep {
  public:
    /// Captures the steps of a schedule: runs each step on the host, but the device does not run the kernels
    /// yet. Fails with `ErrorKind::negative` if an op prevents the capture. Also fails if the inputs do not
    /// fit.
    static Result<std::unique_ptr<DeviceGraphStep>> capture(const BoundModel& model,
                                                            std::span<const Step> steps,
                                                            const std::vector<at::Tensor>& inputs);

    /// Runs the captured steps. Fails if parameters or buffers were given other memory since the capture, if
    /// the inputs do not fit, or if the device fails.
    Result<void> submit(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed);

    // The tensors that hold the results after each submission.
    std::vector<at::Tensor> outputs, gradients;
    Bytes peak;

  private:
    explicit DeviceGraphStep(const BoundModel& model) : run_(model) {}
    Result<void> capture();

    ReplayRun run_;
    ReplayPlan plan_;
    std::unique_ptr<DeviceGraphs> graphs_;
    std::vector<at::Tensor> inputs_, output_gradients_;
    std::vector<const void*> bound_;  ///< addresses of parameters and buffers
    std::int64_t draws_ = 0;          ///< how far a training step advances the generator
};

}  // namespace rematlas
