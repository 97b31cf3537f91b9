// Declarations that the classes and ops for Python share. Errors are RuntimeErrors with one line. Results
// with several fields are JSON.
#pragma once

#include <torch/custom_class.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/solving/copies.h"
#include "runtime/capture/update_recorder.h"
#include "runtime/device/device.h"
#include "runtime/model/named_tensor.h"
#include "runtime/training/open_devices.h"
#include "runtime/training/python_error.h"
#include "runtime/training/step_recording.h"

namespace rematlas {

/// Pairs each name with its tensor. The first `parameters` pairs are parameters, the others buffers.
std::vector<NamedTensor> paired(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
                                std::int64_t parameters);

/// Reads text such as {"offload": "all", "links": "pcie4", "host_budget": "100GiB", "in_training": true}; ""
/// means no copies. If "in_training" is false, the plan is not for training from Python, and parameters may
/// move within the step. "links" is a name or the path of a profile; if it is absent, the links of the graph
/// are used.
Copies copies_from(const std::string& text);

StepRecording::Kind kind_named(const std::string& name);

struct TorchRecording : torch::CustomClassHolder {
    TorchRecording(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
                   std::int64_t parameters, const std::vector<at::Tensor>& inputs,
                   const std::string& device_name, const std::string& kind)
        : device(open_device_named(device_name)),
          step(std::make_shared<StepRecording>(paired(names, tensors, parameters), inputs, *device,
                                               kind_named(kind))) {}
    std::shared_ptr<DeviceRuntime> device;
    std::shared_ptr<StepRecording> step;
};

/// torch.classes.rematlas.UpdateRecording: records an optimizer's step from shapes
/// (capture/update_recorder.h).
struct TorchUpdateRecording : torch::CustomClassHolder {
    /// `kinds` has a kind for each tensor: "parameter", "gradient" or "state".
    TorchUpdateRecording(const std::vector<std::string>& kinds, const std::vector<std::string>& names,
                         const std::vector<at::Tensor>& tensors, const std::string& device_name);
    void begin();
    void end();
    /// Returns the recorded update. Throws if `end` has not been called.
    const RecordedUpdate& update() const;
    std::string facts() const;

  private:
    std::shared_ptr<DeviceRuntime> device_;
    std::optional<UpdateRecorder> recorder_;
    std::unique_ptr<DispatchModeGuard> guard_;
    std::optional<RecordedUpdate> update_;
};

// The functions below must be called in the order in which they are declared, because some classes take
// objects of earlier classes as arguments.
void define_recording(torch::Library& library);
void define_update_recording(torch::Library& library);
void define_plan(torch::Library& library);
void define_comparison(torch::Library& library);
void define_solving(torch::Library& library);
void define_original(torch::Library& library);
void define_ops(torch::Library& library);

}  // namespace rematlas
