#include "runtime/capture/capture_shapes.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "runtime/capture/host_times.h"
#include "runtime/capture/op_costs.h"
#include "runtime/capture/profile_ops.h"
#include "runtime/shapes/cuda_stand_in.h"
#include "runtime/shapes/load_shapes.h"
#include "runtime/shapes/shape_device.h"
#include "runtime/shapes/shape_kernels.h"
#include "runtime/shapes/shape_tensor.h"

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

/// Kernels for tensors without data.
class ShapeFunctions final : public StepKernels {
  public:
    explicit ShapeFunctions(c10::Device device, bool is_absent)
        : device_(device), kernels_(device, is_absent) {}
    Result<Model> load(const std::filesystem::path& path) override { return load_shapes(path, device_); }
    std::vector<at::Tensor> draw(const std::vector<InputSpec>& specs, std::uint64_t) override {
        std::vector<at::Tensor> inputs;
        for (const InputSpec& spec : specs) inputs.push_back(shape_tensor(spec.sizes, spec.dtype, device_));
        return inputs;
    }
    std::vector<at::Tensor> outputs_of(Model& model, const std::vector<at::Tensor>& inputs) override {
        ShapeMode mode(kernels_);
        DispatchModeGuard guard(mode);
        at::NoGradGuard no_grad;
        return model.forward(inputs);
    }
    void prepare(RecorderOptions& options) override {
        options.audit = false;
        options.run_kernel = [this](const auto& op, auto keys, auto* stack) {
            return kernels_.run(op, keys, stack);
        };
    }
    void prepare(StepObserver& observer) override {
        observer.make_gradients = [](const std::vector<at::Tensor>& outputs) {
            std::vector<at::Tensor> gradients;
            for (const at::Tensor& output : outputs)
                gradients.push_back(shape_tensor(output.sizes(), output.scalar_type(), output.device()));
            return gradients;
        };
    }
    bool takes_host_tensors() const { return kernels_.takes_host_tensors(); }

  private:
    c10::Device device_;
    ShapeKernels kernels_;
};

}  // namespace

Result<CapturedStep> record_shapes(const std::filesystem::path& path, const CaptureOptions& options,
                                   DeviceRuntime& device) {
    ShapeFunctions functions(device.device(), device.profile_if_absent() != nullptr);
    Result<RecordedModel> recorded = record_step(path, options, functions, device);
    if (!recorded) return recorded.error();
    add_provenance(recorded->step.graph, {{"captured", "from shapes"}});
    if (functions.takes_host_tensors())
        add_provenance(
            recorded->step.graph,
            {{"host_tensors", "made on the host by the program, and taken as made on the device"}});
    return std::move(recorded->step);
}

Result<Graph> capture_for(const std::filesystem::path& path, const CaptureOptions& options,
                          const DeviceProfile& profile) {
    if (profile.kind == "cuda") stand_in_for_cuda(profile);
    const std::unique_ptr<DeviceRuntime> device = shape_device(profile);
    Result<CapturedStep> step = record_shapes(path, options, *device);
    if (!step) return step.error();
    predict_costs(*step, profile);
    add_provenance(step->graph, {{"times", "roofline model of " + profile.name},
                                 {"workspaces", "of kernels: taken as zero"}});
    if (Result<void> valid = validate(step->graph); !valid) return valid.error();
    return std::move(step->graph);
}

namespace {

Result<Graph> op_by_op_once(const std::filesystem::path& path, const CaptureOptions& options,
                            DeviceRuntime& device) {
    at::set_num_threads(options.threads);
    Result<CapturedStep> step = record_shapes(path, options, device);
    if (!step) return step.error();
    ProfileOptions profiling = options.profile;
    options.report("profile", 0.0);
    profiling.progress = [&](double fraction) { options.report("profile", fraction); };
    if (Result<void> profiled = profile_ops(*step, device, profiling); !profiled) return profiled.error();
    measure_host_times(step->graph, step->tape, device);
    add_provenance(step->graph, {{"times", "median of each distinct op, run alone on random operands"}});
    if (Result<void> made = make_replayable(*step, path.string()); !made) return made.error();
    return std::move(step->graph);
}

}  // namespace

Result<Graph> capture_op_by_op(const std::filesystem::path& path, const CaptureOptions& options,
                               DeviceRuntime& device) {
    return with_deterministic_kernels(device, [&] { return op_by_op_once(path, options, device); });
}

}  // namespace rematlas
