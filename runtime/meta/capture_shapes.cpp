#include "runtime/meta/capture_shapes.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "runtime/capture/recorder.h"
#include "runtime/meta/cuda_stand_in.h"
#include "runtime/meta/load_shapes.h"
#include "runtime/meta/op_costs.h"
#include "runtime/meta/profile_ops.h"
#include "runtime/meta/shape_device.h"
#include "runtime/meta/shape_kernels.h"
#include "runtime/meta/shape_tensor.h"
#include "runtime/model/torchscript_places.h"

namespace rematlas {
namespace {

/// Runs ops on shapes and records nothing.
class ShapeMode final : public DispatchMode {
  public:
    explicit ShapeMode(ShapeKernels& kernels) : kernels_(kernels) {}
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override {
        if (const auto why_not = kernels_.run(op, keys, stack))
            TORCH_CHECK(false, op.schema().name(), ": ", *why_not);
    }

  private:
    ShapeKernels& kernels_;
};

std::vector<at::Tensor> shapes_of(const std::vector<InputSpec>& specs, c10::Device device) {
    std::vector<at::Tensor> inputs;
    for (const InputSpec& spec : specs) inputs.push_back(shape_tensor(spec.sizes, spec.dtype, device));
    return inputs;
}

/// The outputs of the model alone.
Result<std::vector<at::Tensor>> outputs_of(Model model, const std::vector<at::Tensor>& inputs,
                                           ShapeKernels& kernels) {
    try {
        ShapeMode mode(kernels);
        DispatchModeGuard guard(mode);
        at::NoGradGuard no_grad;
        return flatten_tensors(model.forward(inputs));
    } catch (const std::exception& error) {
        return Error{model.file_name + ": " + one_line(error)};
    }
}

Result<Recording> record(Model& model, const std::vector<at::Tensor>& inputs,
                         const std::vector<InputSpec>& specs, const CaptureOptions& options,
                         ShapeKernels& kernels, DeviceRuntime& device) {
    RecorderOptions recording{.audit = false};
    recording.run_kernel = [&](const auto& op, auto keys, auto* stack) {
        return kernels.run(op, keys, stack);
    };
    recording.on_op = [&](int count) {
        if (options.progress && count % 64 == 0) options.progress("record", 1.0 - 64.0 / (64.0 + count));
    };
    TorchScriptPlaces places(model.module);
    Recorder recorder(model.tensors, inputs, specs, places, device, recording);
    StepObserver observer = recorder.observer();
    observer.make_gradients = [&](const std::vector<at::Tensor>& outputs) {
        std::vector<at::Tensor> gradients;
        for (const at::Tensor& output : outputs)
            gradients.push_back(shape_tensor(output.sizes(), output.scalar_type(), output.device()));
        return gradients;
    };
    try {
        DispatchModeGuard guard(recorder);
        const StepResult step = training_step(model, inputs, options.loss, 0, observer);
        recorder.note_outputs(step.outputs);
        return recorder.finish(gradients_made(model, step));
    } catch (const std::exception& error) {
        const std::string why = recorder.refusal() ? "cannot be captured: " + *recorder.refusal()
                                                   : "the model fails: " + one_line(error);
        return Error{model.file_name + ": " + why};
    }
}

}  // namespace

Result<CapturedStep> record_shapes(const std::filesystem::path& path, const CaptureOptions& options,
                                   DeviceRuntime& device) {
    if (options.progress) options.progress("load", 0.0);
    Result<Model> model = load_shapes(path, device.device());
    if (!model) return model.error();
    ShapeKernels kernels(device.device());
    std::vector<InputSpec> specs = options.inputs;
    model->fixed = take_fixed(specs);
    if (options.loss == Loss::cross_entropy) {
        const auto outputs = outputs_of(*model, shapes_of(specs, device.device()), kernels);
        if (!outputs) return outputs.error();
        Result<InputSpec> target = cross_entropy_target(*outputs);
        if (!target) return target.error();
        specs.push_back(target.take());
    }
    if (options.progress) options.progress("record", 0.0);
    Result<Recording> recording =
        record(*model, shapes_of(specs, device.device()), specs, options, kernels, device);
    if (!recording) return recording.error();
    CapturedStep step = step_from(*recording, *model, specs, options, device);
    nlohmann::json provenance = *step.graph.provenance;
    provenance["captured"] = "from shapes";
    if (kernels.takes_host_tensors())
        provenance["host_tensors"] = "made on the host by the program, and taken as made on the device";
    provenance.erase("model_sha256");  // the weights were not read
    step.graph.provenance = std::make_shared<const nlohmann::json>(std::move(provenance));
    return step;
}

Result<Graph> capture_for(const std::filesystem::path& path, const CaptureOptions& options,
                          const DeviceProfile& profile) {
    if (profile.kind == "cuda") stand_in_for_cuda(profile);
    const std::unique_ptr<DeviceRuntime> device = shape_device(profile);
    Result<CapturedStep> step = record_shapes(path, options, *device);
    if (!step) return step.error();
    predict_costs(*step, profile);
    nlohmann::json provenance = *step->graph.provenance;
    provenance["times"] = "roofline model of " + profile.name;
    provenance["workspaces"] = "of kernels: taken as zero";
    step->graph.provenance = std::make_shared<const nlohmann::json>(std::move(provenance));
    step->graph.device = Device{.name = profile.name,
                                .memory = profile.memory,
                                .to_host_bytes_per_second = profile.to_host_bytes_per_second,
                                .to_device_bytes_per_second = profile.to_device_bytes_per_second};
    if (Result<void> valid = validate(step->graph); !valid) return valid.error();
    return std::move(step->graph);
}

Result<Graph> capture_op_by_op(const std::filesystem::path& path, const CaptureOptions& options,
                               DeviceRuntime& device) {
    at::set_num_threads(options.threads);
    Result<CapturedStep> step = record_shapes(path, options, device);
    if (!step) return step.error();
    ProfileOptions profiling = options.profile;
    if (options.progress) {
        options.progress("profile", 0.0);
        profiling.progress = [&](double fraction) { options.progress("profile", fraction); };
    }
    if (Result<void> profiled = profile_ops(*step, device, profiling); !profiled) return profiled.error();
    nlohmann::json provenance = *step->graph.provenance;
    provenance["times"] = "median of each distinct op, run alone on random operands";
    step->graph.provenance = std::make_shared<const nlohmann::json>(std::move(provenance));
    if (Result<void> made = make_replayable(*step, path); !made) return made.error();
    return std::move(step->graph);
}

}  // namespace rematlas
