// A step that the device holds as captured graphs (CUDA graphs) and repeats as a whole.
#pragma once

#include <memory>
#include <vector>

#include "runtime/replay/replay_run.h"

namespace rematlas {

class DeviceGraphStep {
  public:
    /// Calls the ops of the steps once; the device runs none of them yet. Errors: the op that prevents the
    /// capture, of the kind `negative`; inputs that do not fit.
    static Result<std::unique_ptr<DeviceGraphStep>> capture(const BoundModel& model,
                                                            std::span<const Step> steps,
                                                            const std::vector<at::Tensor>& inputs);

    /// Errors: parameters or buffers that were given other memory since the capture; inputs that do not
    /// fit; errors of the device.
    Result<void> submit(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed);

    // The tensors in which each submission leaves its results.
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
    std::int64_t draws_ = 0;          ///< how far a step moves the generator
};

}  // namespace rematlas
