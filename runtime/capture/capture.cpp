#include "runtime/capture/capture.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/schedule/run_sequence.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/host_times.h"
#include "runtime/capture/recorder.h"
#include "runtime/model/torchscript_places.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/original_optimizer.h"

namespace rematlas {
namespace {

/// The state after the recorded step, for comparison with its replay.
struct Reference {
    StepResult step;
    std::vector<at::Tensor> tensors;  ///< parameters and buffers after the step
    std::vector<at::Tensor> states;   ///< states of the optimizer
    std::unique_ptr<GeneratorState> generator;
};

/// The recorded model, and an optimizer that updates it if the step contains updates.
struct Original {
    Model& model;
    std::optional<OriginalOptimizer> optimizer;

    Original(Model& model, const Tape& tape) : model(model) {
        if (tape.optimizer) optimizer.emplace(model, tape);
    }
    Reference after(StepResult step, DeviceRuntime& device);
};

std::vector<at::Tensor> tensors_of(const Model& model) {
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& named : model.tensors) tensors.push_back(named.tensor);
    return tensors;
}

/// Lets the optimizer update the model after `step`. Returns the state of the model, its optimizer and the
/// device.
Reference Original::after(StepResult step, DeviceRuntime& device) {
    if (optimizer) optimizer->update(step.gradients);
    return {.step = std::move(step),
            .tensors = tensors_of(model),
            .states = optimizer ? optimizer->states() : std::vector<at::Tensor>(),
            .generator = device.generator_state()};
}

/// Returns the first difference between a step of the original and the replay of that step, or null if there
/// is none.
const char* difference(const Replayed& replayed, const Executor& executor, const Model& fresh,
                       const Reference& reference, DeviceRuntime& device) {
    if (!identical(replayed.outputs, reference.step.outputs)) return "outputs";
    if (!identical(replayed.gradients, reference.step.gradients)) return "gradients";
    if (!identical(tensors_of(fresh), reference.tensors)) return "parameters or buffers";
    if (!identical(executor.states(), reference.states)) return "states of the optimizer";
    if (!device.generator_state()->equals(*reference.generator)) return "random state";
    return nullptr;
}

/// Checks that the first replay gives the recorded results.
Result<void> check_replay(std::span<const Step> steps, Executor& executor,
                          const std::vector<at::Tensor>& inputs, const Model& fresh,
                          const Reference& reference, DeviceRuntime& device) {
    Result<Replayed> replayed = executor.run(steps, inputs, {.gradient_seed = recorded_gradient_seed});
    if (!replayed) return replayed.error();
    const char* different = difference(*replayed, executor, fresh, reference, device);
    if (!different) return {};
    return Error{fresh.file_name + ": cannot be captured: its replay gives other " + different +
                 "; a kernel is not deterministic"};
}

/// Runs a further step of the original and of the replay, with other inputs and weights. Fails if the results
/// differ. For example, they differ if the program reads values without calling the dispatcher, because the
/// recording has such values as constants. The call also fails if a guarded value changes. `gradients` holds
/// the gradients of the previous step before the call, and the gradients of this step after the call.
Result<void> check_further_step(std::span<const Step> steps, Executor& executor,
                                const std::vector<at::Tensor>& inputs, Original& original, Model& fresh,
                                std::vector<at::Tensor>& gradients, Loss loss, DeviceRuntime& device) {
    Model& model = original.model;
    descend(model, gradients);
    descend(fresh, gradients);
    const auto before = device.generator_state();
    Reference reference;
    try {
        reference = original.after(training_step(model, inputs, loss, recorded_gradient_seed), device);
    } catch (const std::exception& error) {
        return Error{model.file_name + ": the model fails in a further step: " + one_line(error)};
    }
    device.set_generator_state(*before);
    Result<Replayed> replayed = executor.run(steps, inputs, {.gradient_seed = recorded_gradient_seed});
    const std::string refused = model.file_name + ": cannot be captured: with other data ";
    if (!replayed) return Error{refused + replayed.error().message};
    gradients = reference.step.gradients;
    const char* different = difference(*replayed, executor, fresh, reference, device);
    if (!different) return {};
    return Error{refused + "its replay gives other " + different +
                 "; the program's course depends on values that it reads where no op shows it"};
}

Result<Graph> capture_once(const std::filesystem::path& path, const CaptureOptions& options,
                           DeviceRuntime& device) {
    at::set_num_threads(options.threads);
    DeviceKernels kernels(device);
    Result<Model> fresh = kernels.load(path);
    if (!fresh) return fresh.error();
    Result<RecordedModel> recorded = record_step(path, options, kernels, device);
    if (!recorded) return recorded.error();
    CapturedStep& step = recorded->step;
    if (Result<void> made = make_replayable(step, path.string()); !made) return made.error();
    Original original(recorded->model, step.tape);
    Reference reference = original.after(std::move(recorded->result), device);

    options.report("check", 0.0);
    const bool guarded = std::any_of(step.tape.ops.begin(), step.tape.ops.end(),
                                     [](const TapeOp& op) { return op.guard.has_value(); });
    Result<Executor> executor =
        Executor::create(step.graph, std::move(step.tape), fresh->tensors, fresh->file_name, device);
    if (!executor) return executor.error();
    device.seed_generator(options.seed);
    const FlatGraph flat = flatten(step.graph);
    const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    if (Result<void> same = check_replay(steps, *executor, recorded->inputs, *fresh, reference, device);
        !same)
        return same.error();
    for (int further = 1; further <= (guarded ? 3 : 1); ++further) {
        Result<void> same =
            check_further_step(steps, *executor, kernels.draw(recorded->specs, options.seed + further),
                               original, *fresh, reference.step.gradients, options.loss, device);
        if (!same) return same.error();
    }
    reference = {};

    ProfileOptions profiling = options.profile;
    profiling.progress = [&](double fraction) { options.report("profile", fraction); };
    options.report("profile", 0.0);
    if (Result<void> profiled = profile(step.graph, *executor, recorded->inputs, profiling); !profiled)
        return profiled.error();
    measure_host_times(step.graph, executor->tape(), device);
    add_provenance(step.graph, {{"times", "median of replayed steps"}});
    return std::move(step.graph);
}

}  // namespace

Result<Graph> with_deterministic_kernels(DeviceRuntime& device,
                                         const std::function<Result<Graph>()>& capture) {
    if (!device.settings()) return capture();
    device.put_in_force(KernelSettings::strict());
    Result<Graph> graph = capture();
    if (graph || !says_not_deterministic(graph.error().message)) return graph;
    const std::string why = graph.error().message.substr(0, graph.error().message.find(", but you set"));
    device.put_in_force(KernelSettings::lenient());
    graph = capture();
    if (graph)
        add_provenance(*graph,
                       {{"determinism", why + "; fused attention is switched off, the rest is checked"}});
    return graph;
}

Result<Graph> capture(const std::filesystem::path& path, const CaptureOptions& options,
                      DeviceRuntime& device) {
    return with_deterministic_kernels(device, [&] { return capture_once(path, options, device); });
}

}  // namespace rematlas
