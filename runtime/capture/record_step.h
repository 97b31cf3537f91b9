// Records one step of a model by itself. The caller chooses the kernels that run its ops.
//
//     DeviceKernels kernels(device);                       // or shape functions, see runtime/shapes/
//     Result<RecordedModel> recorded = record_step("model.pt", options, kernels, device);
//     recorded->step.graph;                                // without times
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "runtime/capture/build_graph.h"
#include "runtime/capture/profile.h"
#include "runtime/capture/recorder.h"
#include "runtime/device/device.h"
#include "runtime/model/input_spec.h"
#include "runtime/model/optimizer.h"
#include "runtime/model/training_step.h"

namespace rematlas {

struct CaptureOptions {
    std::vector<InputSpec> inputs;
    Loss loss = Loss::output;
    std::optional<Optimizer> optimizer = {};  ///< the optimizer whose updates end the step
    std::uint64_t seed = 1;                   ///< seed of the values of the inputs and of the model's
                                              ///< generator
    int threads = 1;                          ///< threads of libtorch, during capture and later replay
    bool audit = true;                        ///< see RecorderOptions
    ProfileOptions profile = {};              ///< options for the measurement of times
    std::function<void(std::string_view stage, double fraction)> progress = {};

    void report(std::string_view stage, double fraction) const {
        if (progress) progress(stage, fraction);
    }
};

/// The kernels that run the ops of a step, and the tensors on which they run.
class StepKernels {
  public:
    virtual ~StepKernels() = default;
    virtual Result<Model> load(const std::filesystem::path& path) = 0;
    virtual std::vector<at::Tensor> draw(const std::vector<InputSpec>& specs, std::uint64_t seed) = 0;
    /// The outputs of a forward without gradients.
    virtual std::vector<at::Tensor> outputs_of(Model& model, const std::vector<at::Tensor>& inputs) = 0;
    /// Changes the options that are particular to these kernels.
    virtual void prepare(RecorderOptions& options) = 0;
    virtual void prepare(StepObserver& observer) = 0;
};

/// The device's own kernels, on real tensors.
class DeviceKernels final : public StepKernels {
  public:
    explicit DeviceKernels(const DeviceRuntime& device) : device_(device.device()) {}
    Result<Model> load(const std::filesystem::path& path) override;
    std::vector<at::Tensor> draw(const std::vector<InputSpec>& specs, std::uint64_t seed) override;
    std::vector<at::Tensor> outputs_of(Model& model, const std::vector<at::Tensor>& inputs) override;
    void prepare(RecorderOptions&) override {}
    void prepare(StepObserver&) override {}

  private:
    c10::Device device_;
};

struct RecordedModel {
    Model model;                     ///< after the step
    std::vector<InputSpec> specs;    ///< the tensors that the model takes, the target of the loss last
    std::vector<at::Tensor> inputs;  ///< inputs of the step
    StepResult result;
    CapturedStep step;  ///< without times
};

/// The seed of the random gradients of the outputs.
constexpr std::uint64_t recorded_gradient_seed = 7;

/// Errors: one line that names the file, the input, or the op with its module path and source line.
Result<RecordedModel> record_step(const std::filesystem::path& path, const CaptureOptions& options,
                                  StepKernels& kernels, DeviceRuntime& device);

/// Adds a resident tensor for the memory that the device's libraries hold for good, where they hold any.
void add_library_workspace(Graph& graph, const DeviceRuntime& device);
/// Writes into the graph where it comes from: the device with its facts, the version of torch, threads,
/// inputs.
void note_origin(CapturedStep& step, const DeviceRuntime& device);
/// Adds further fields to the graph's provenance.
void add_provenance(Graph& graph, const nlohmann::json& fields);

}  // namespace rematlas
