#include "runtime/capture/capture.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/schedule/run_sequence.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/recorder.h"
#include "runtime/model/torchscript_places.h"
#include "runtime/replay/compare.h"

namespace rematlas {
namespace {

constexpr std::uint64_t gradient_seed = 7;

/// What the recorded step left behind, for comparison with its replay.
struct Reference {
    StepResult step;
    std::vector<at::Tensor> tensors;  ///< parameters and buffers afterwards
    std::unique_ptr<GeneratorState> generator;
};

std::vector<at::Tensor> tensors_of(const Model& model) {
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& named : model.tensors) tensors.push_back(named.tensor);
    return tensors;
}

/// The tensors among the inputs, and the target that --loss cross_entropy needs, whose shape is that of the
/// output without its classes.
Result<std::vector<InputSpec>> complete_inputs(const std::filesystem::path& path,
                                               const CaptureOptions& options, DeviceRuntime& device) {
    std::vector<InputSpec> specs = options.inputs;
    const std::vector<FixedInput> fixed = take_fixed(specs);
    if (options.loss != Loss::cross_entropy) return specs;
    Result<Model> model = load_model(path, device.device());
    if (!model) return model.error();
    try {
        at::NoGradGuard no_grad;
        model->fixed = fixed;
        std::vector<at::Tensor> inputs = draw_inputs(specs, options.seed);
        for (at::Tensor& input : inputs) input = input.to(device.device());
        Result<InputSpec> target = cross_entropy_target(flatten_tensors(model->forward(inputs)));
        if (!target) return target.error();
        specs.push_back(target.take());
    } catch (const std::exception& error) {
        return Error{path.string() + ": " + one_line(error)};
    }
    return specs;
}

Result<Recording> record(Model& model, const std::vector<at::Tensor>& inputs,
                         const std::vector<InputSpec>& specs, const CaptureOptions& options,
                         DeviceRuntime& device, Reference& reference) {
    TorchScriptPlaces places(model.module);
    Recorder recorder(model.tensors, inputs, specs, places, device,
                      {.audit = options.audit, .on_op = [&](int count) {
                           if (options.progress && count % 64 == 0)
                               options.progress("record", 1.0 - 64.0 / (64.0 + count));
                       }});
    try {
        DispatchModeGuard guard(recorder);
        reference.step = training_step(model, inputs, options.loss, gradient_seed, recorder.observer());
        recorder.note_outputs(reference.step.outputs);
        return recorder.finish(gradients_made(model, reference.step));
    } catch (const std::exception& error) {
        const std::string why = recorder.refusal() ? "cannot be captured: " + *recorder.refusal()
                                                   : "the model fails: " + one_line(error);
        return Error{model.file_name + ": " + why};
    }
}

/// What differs between a step of the original and its replay; null when nothing does.
const char* difference(const Replayed& replayed, const Model& fresh, const Reference& reference,
                       DeviceRuntime& device) {
    if (!identical(replayed.outputs, reference.step.outputs)) return "outputs";
    if (!identical(replayed.gradients, reference.step.gradients)) return "gradients";
    if (!identical(tensors_of(fresh), reference.tensors)) return "buffers";
    if (!device.generator_state()->equals(*reference.generator)) return "random state";
    return nullptr;
}

/// The first replay must give what was recorded.
Result<void> check_replay(std::span<const Step> steps, Executor& executor,
                          const std::vector<at::Tensor>& inputs, const Model& fresh,
                          const Reference& reference, DeviceRuntime& device) {
    Result<Replayed> replayed = executor.run(steps, inputs, {.gradient_seed = gradient_seed});
    if (!replayed) return replayed.error();
    const char* different = difference(*replayed, fresh, reference, device);
    if (!different) return {};
    return Error{fresh.file_name + ": cannot be captured: its replay gives other " + different +
                 "; a kernel is not deterministic"};
}

/// A further step of both with other inputs and weights: what was read from values without a dispatched op,
/// and has become part of the recording, shows here; so do guarded values that change. `gradients` are those
/// of the step before, and then of this one.
Result<void> check_further_step(std::span<const Step> steps, Executor& executor,
                                const std::vector<at::Tensor>& inputs, Model& model, Model& fresh,
                                std::vector<at::Tensor>& gradients, Loss loss, DeviceRuntime& device) {
    descend(model, gradients);
    descend(fresh, gradients);
    const auto before = device.generator_state();
    Reference reference;
    try {
        reference.step = training_step(model, inputs, loss, gradient_seed);
    } catch (const std::exception& error) {
        return Error{model.file_name + ": the model fails in a further step: " + one_line(error)};
    }
    reference.generator = device.generator_state();
    reference.tensors = tensors_of(model);
    device.set_generator_state(*before);
    Result<Replayed> replayed = executor.run(steps, inputs, {.gradient_seed = gradient_seed});
    const std::string refused = model.file_name + ": cannot be captured: with other data ";
    if (!replayed) return Error{refused + replayed.error().message};
    gradients = reference.step.gradients;
    const char* different = difference(*replayed, fresh, reference, device);
    if (!different) return {};
    return Error{refused + "its replay gives other " + different +
                 "; the program's course depends on values that it reads where no op shows it"};
}

/// What a graph says of where it comes from.
nlohmann::json provenance_of(const Model& model, const std::vector<InputSpec>& specs,
                             const CaptureOptions& options, const DeviceRuntime& device) {
    nlohmann::json provenance = {
        {"model", model.file_name},
        {"model_sha256", model.sha256},
        {"device", device.name()},
        {"device_type", c10::DeviceTypeName(device.device().type(), /*lower_case=*/true)},
        {"torch", TORCH_VERSION},
        {"threads", options.threads},
        {"loss", to_string(options.loss)},
        {"optimizer", "none"},
        {"times", "median of replayed steps"},
        {"inputs", nlohmann::json::array()}};
    if (const auto allocator = device.caching_allocator())
        provenance["allocator"] = {{"expandable_segments", allocator->expandable_segments},
                                   {"large_segment_bytes", allocator->large_segment}};
    for (const InputSpec& spec : specs) provenance["inputs"].push_back(to_string(spec));
    for (const FixedInput& input : model.fixed) {
        nlohmann::json& inputs = provenance["inputs"];
        inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(input.position), to_string(input.spec));
    }
    return provenance;
}

}  // namespace

CapturedStep step_from(const Recording& recording, const Model& model, const std::vector<InputSpec>& inputs,
                       const CaptureOptions& options, const DeviceRuntime& device) {
    CapturedStep step = build_graph(recording, [&](std::int64_t bytes) { return device.footprint(bytes); });
    if (device.library_workspace() > 0)
        step.graph.tensors.push_back(
            {"library workspace", Bytes(device.library_workspace()), TensorKind::constant});
    step.graph.name = std::filesystem::path(model.file_name).stem().string();
    step.tape.loss = options.loss;
    step.tape.fixed = model.fixed;
    step.tape.threads = options.threads;
    step.graph.provenance =
        std::make_shared<const nlohmann::json>(provenance_of(model, inputs, options, device));
    return step;
}

Result<void> make_replayable(CapturedStep& step, const std::filesystem::path& path) {
    try {
        step.graph.replay = std::make_shared<const nlohmann::json>(to_json(step.tape));
    } catch (const std::exception& error) {
        return Error{path.string() + ": cannot be captured: " + error.what()};
    }
    return validate(step.graph);
}

Result<Graph> capture(const std::filesystem::path& path, const CaptureOptions& options,
                      DeviceRuntime& device) {
    const auto report = [&](std::string_view stage, double fraction) {
        if (options.progress) options.progress(stage, fraction);
    };
    at::set_num_threads(options.threads);
    report("load", 0.0);
    Result<std::vector<InputSpec>> specs = complete_inputs(path, options, device);
    if (!specs) return specs.error();
    Result<Model> model = load_model(path, device.device()), fresh = load_model(path, device.device());
    if (!model) return model.error();
    if (!fresh) return fresh.error();
    std::vector<InputSpec> given = options.inputs;
    model->fixed = take_fixed(given);
    const auto draw = [&](std::uint64_t seed) {
        std::vector<at::Tensor> inputs = draw_inputs(*specs, seed);
        for (at::Tensor& input : inputs) input = input.to(device.device());
        return inputs;
    };
    const std::vector<at::Tensor> inputs = draw(options.seed);

    report("record", 0.0);
    Reference reference;
    device.seed_generator(options.seed);
    Result<Recording> recording = record(*model, inputs, *specs, options, device, reference);
    if (!recording) return recording.error();
    reference.generator = device.generator_state();
    reference.tensors = tensors_of(*model);
    CapturedStep step = step_from(*recording, *model, *specs, options, device);
    if (Result<void> made = make_replayable(step, path); !made) return made.error();

    report("check", 0.0);
    const bool guarded = std::any_of(step.tape.ops.begin(), step.tape.ops.end(),
                                     [](const TapeOp& op) { return op.guard.has_value(); });
    Result<Executor> executor =
        Executor::create(step.graph, std::move(step.tape), fresh->tensors, fresh->file_name, device);
    if (!executor) return executor.error();
    device.seed_generator(options.seed);
    const FlatGraph flat = flatten(step.graph);
    const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    if (Result<void> same = check_replay(steps, *executor, inputs, *fresh, reference, device); !same)
        return same.error();
    for (int further = 1; further <= (guarded ? 3 : 1); ++further) {
        Result<void> same = check_further_step(steps, *executor, draw(options.seed + further), *model, *fresh,
                                               reference.step.gradients, options.loss, device);
        if (!same) return same.error();
    }
    reference = {};

    ProfileOptions profiling = options.profile;
    profiling.progress = [&](double fraction) { report("profile", fraction); };
    report("profile", 0.0);
    if (Result<void> profiled = profile(step.graph, *executor, inputs, profiling); !profiled)
        return profiled.error();
    return std::move(step.graph);
}

}  // namespace rematlas
