// Records one step of a model that is read from a file. The caller chooses the kernels that run its ops.
//
//     DeviceKernels kernels(device);                       // or shape functions, see runtime/shapes/
//     Result<RecordedModel> recorded = record_step("model.pt", options, kernels, device);
//     recorded->step.graph;                                // has no times yet
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
    std::optional<Optimizer> optimizer = {};  ///< its updates end the step
    std::uint64_t seed = 1;                   ///< seed of the inputs and of the device's generator
    int threads = 1;                          ///< number of libtorch's threads, during capture and later
                                              ///< replay
    bool audit = true;                        ///< see RecorderOptions
    ProfileOptions profile = {};              ///< how times are measured
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
    /// Returns the outputs of a forward without gradients.
    virtual std::vector<at::Tensor> outputs_of(Model& model, const std::vector<at::Tensor>& inputs) = 0;
    /// Sets the options that these kernels need.
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
    Model model;                     ///< the model as the step left it
    std::vector<InputSpec> specs;    ///< the tensors that the model takes; the target of the loss, if it
                                     ///< needs one, is last
    std::vector<at::Tensor> inputs;  ///< inputs of the step
    StepResult result;
    CapturedStep step;  ///< without times
};

/// The seed of the random gradients of the outputs.
constexpr std::uint64_t recorded_gradient_seed = 7;

/// Fails with one line that names the file, the input, or the op with its module path and source line.
Result<RecordedModel> record_step(const std::filesystem::path& path, const CaptureOptions& options,
                                  StepKernels& kernels, DeviceRuntime& device);

/// If the device's libraries hold memory permanently, adds a resident tensor for it.
void add_library_workspace(Graph& graph, const DeviceRuntime& device);
/// Writes the origin of the step into its graph: the device with its properties, the version of torch, how
/// many threads, the inputs.
void note_origin(CapturedStep& step, const DeviceRuntime& device);
/// Adds further fields to the graph's provenance.
void add_provenance(Graph& graph, const nlohmann::json& fields);

}  // namespace rematlas
