#include "runtime/capture/record_step.h"

#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "runtime/capture/optimizer_ops.h"
#include "runtime/model/load_model.h"
#include "runtime/torch_versions/running_version.h"

namespace rematlas {
namespace {

/// Returns the specs of those given inputs that are tensors. If no inputs are given, returns the specs of the
/// inputs with which the program was exported. Adds the target that --loss cross_entropy needs; it has the
/// shape of the output without the axis of classes.
Result<std::vector<InputSpec>> complete_inputs(const std::filesystem::path& path,
                                               const CaptureOptions& options, StepKernels& kernels) {
    std::vector<InputSpec> specs = options.inputs;
    const std::vector<FixedInput> fixed = take_fixed(specs);
    if (options.loss != Loss::cross_entropy && !options.inputs.empty()) return specs;
    Result<Model> model = kernels.load(path);
    if (!model) return model.error();
    Result<std::vector<InputSpec>> tensors = input_tensors(*model, options.inputs, path.string());
    if (!tensors || options.loss != Loss::cross_entropy) return tensors;
    specs = tensors.take();
    try {
        model->fixed = fixed;
        Result<InputSpec> target =
            cross_entropy_target(kernels.outputs_of(*model, kernels.draw(specs, options.seed)));
        if (!target) return target.error();
        specs.push_back(target.take());
    } catch (const std::exception& error) {
        return Error{path.string() + ": " + one_line(error)};
    }
    return specs;
}

Result<Recording> record(RecordedModel& recorded, const CaptureOptions& options, StepKernels& kernels,
                         DeviceRuntime& device) {
    RecorderOptions how{.audit = options.audit, .on_op = [&](int count) {
                            if (count % 64 == 0) options.report("record", 1.0 - 64.0 / (64.0 + count));
                        }};
    kernels.prepare(how);
    const std::unique_ptr<Places> places = recorded.model.program->places();
    Recorder recorder(recorded.model.tensors, recorded.inputs, recorded.specs, *places, device, how);
    StepObserver observer = recorder.observer();
    kernels.prepare(observer);
    std::vector<std::int64_t> versions;
    for (const at::Tensor& input : recorded.inputs) versions.push_back(input._version());
    try {
        DispatchModeGuard guard(recorder);
        recorded.result =
            training_step(recorded.model, recorded.inputs, options.loss, recorded_gradient_seed, observer);
        // The step must not write to its inputs: they belong to the caller, and ops that read them may have
        // to run again.
        for (std::size_t i = 0; i < recorded.inputs.size(); ++i)
            if (recorded.inputs[i]._version() != versions[i])
                recorder.refuse_step("the step writes to its input " + std::to_string(i + 1) +
                                     ": have the model clone that input first");
        recorder.note_outputs(recorded.result.outputs);
        if (recorder.refusal())
            return Error{recorded.model.file_name + ": cannot be captured: " + *recorder.refusal()};
        return recorder.finish(gradients_made(recorded.model, recorded.result));
    } catch (const std::exception& error) {
        const std::string why = recorder.refusal() ? "cannot be captured: " + *recorder.refusal()
                                                   : "the model fails: " + one_line(error);
        return Error{recorded.model.file_name + ": " + why};
    }
}

}  // namespace

Result<Model> DeviceKernels::load(const std::filesystem::path& path) {
    return load_model(path, device_);
}

std::vector<at::Tensor> DeviceKernels::draw(const std::vector<InputSpec>& specs, std::uint64_t seed) {
    std::vector<at::Tensor> inputs = draw_inputs(specs, seed);
    for (at::Tensor& input : inputs) input = input.to(device_);
    return inputs;
}

std::vector<at::Tensor> DeviceKernels::outputs_of(Model& model, const std::vector<at::Tensor>& inputs) {
    at::NoGradGuard no_grad;
    return model.forward(inputs);
}

Result<RecordedModel> record_step(const std::filesystem::path& path, const CaptureOptions& options,
                                  StepKernels& kernels, DeviceRuntime& device) {
    options.report("load", 0.0);
    Result<std::vector<InputSpec>> specs = complete_inputs(path, options, kernels);
    if (!specs) return specs.error();
    Result<Model> model = kernels.load(path);
    if (!model) return model.error();
    std::vector<InputSpec> given = options.inputs;
    model->fixed = take_fixed(given);
    std::vector<at::Tensor> inputs = kernels.draw(*specs, options.seed);
    RecordedModel recorded{model.take(), specs.take(), std::move(inputs), {}, {}};

    options.report("record", 0.0);
    device.seed_generator(options.seed);
    Result<Recording> recording = record(recorded, options, kernels, device);
    if (!recording) return recording.error();
    CapturedStep& step = recorded.step;
    step = build_graph(*recording, [&](std::int64_t bytes) { return device.footprint(bytes); });
    add_library_workspace(step.graph, device);
    step.graph.name = std::filesystem::path(recorded.model.file_name).stem().string();
    step.tape.loss = options.loss;
    step.tape.fixed = recorded.model.fixed;
    step.tape.threads = options.threads;
    note_origin(step, device);
    nlohmann::json more = {
        {"model", recorded.model.file_name}, {"loss", to_string(options.loss)}, {"optimizer", "none"}};
    if (options.optimizer) {
        const Result<void> added = add_optimizer(step, {{.optimizer = *options.optimizer}}, device);
        if (!added)
            return Error{recorded.model.file_name + ": --optimizer " +
                         std::string(options.optimizer->name()) + ": " + added.error().message};
        more["optimizer_options"] = to_json(*options.optimizer);
        more["optimizer"] = options.optimizer->name();
    }
    if (!recorded.model.sha256.empty()) more["model_sha256"] = recorded.model.sha256;
    add_provenance(step.graph, more);
    return recorded;
}

void add_library_workspace(Graph& graph, const DeviceRuntime& device) {
    if (device.library_workspace() > 0)
        graph.tensors.push_back(
            {library_workspace_name, Bytes(device.library_workspace()), TensorKind::constant});
}

void note_origin(CapturedStep& step, const DeviceRuntime& device) {
    nlohmann::json inputs = nlohmann::json::array();
    for (const auto& [spec, operand] : step.tape.inputs) inputs.push_back(to_string(spec));
    for (const FixedInput& input : step.tape.fixed)
        inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(std::min(input.position, inputs.size())),
                      to_string(input.spec));
    step.graph.device = device.description();
    nlohmann::json origin = {{"device", device.name()},
                             {"torch", running_torch_version()},
                             {"threads", step.tape.threads},
                             {"inputs", std::move(inputs)}};
    if (device.multiprocessors() > 0) origin["multiprocessors"] = device.multiprocessors();
    if (const std::string workspace = device.product_workspace(); !workspace.empty())
        origin["cublas_workspace_config"] = workspace;
    if (const auto settings = device.settings()) origin["settings"] = to_json(*settings);
    step.graph.provenance = std::make_shared<const nlohmann::json>(std::move(origin));
}

void add_provenance(Graph& graph, const nlohmann::json& fields) {
    nlohmann::json provenance = *graph.provenance;
    provenance.update(fields);
    graph.provenance = std::make_shared<const nlohmann::json>(std::move(provenance));
}

}  // namespace rematlas
