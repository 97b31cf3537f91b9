#include "runtime/replay/verify.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/homes.h"
#include "runtime/model/torchscript.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/home_tensors.h"
#include "runtime/replay/original_optimizer.h"

namespace rematlas {
namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// What one step left behind.
struct StepOutcome {
    std::vector<at::Tensor> outputs, gradients;
    std::unique_ptr<GeneratorState> generator;
    Bytes peak;
    double seconds = 0;
};

/// The original model, run through autograd.
struct OriginalModel {
    Model model;
    std::unique_ptr<GeneratorState> generator;  ///< before its next step
    std::int64_t resident_bytes;
    std::optional<OriginalOptimizer> optimizer = {};  ///< where it is part of the step

    Result<StepOutcome> step(const std::vector<at::Tensor>& inputs, Loss loss, std::uint64_t gradient_seed,
                             DeviceRuntime& device) {
        device.set_generator_state(*generator);
        device.synchronize();
        device.reset_peak();
        const std::int64_t before = device.alive_bytes() - resident_bytes;
        const std::int64_t began = device.now();
        StepOutcome outcome;
        try {
            StepResult result = training_step(model, inputs, loss, gradient_seed);
            outcome.outputs = std::move(result.outputs);
            outcome.gradients = std::move(result.gradients);
            if (optimizer) optimizer->update(outcome.gradients);
        } catch (const std::exception& error) {
            return Error{model.file_name + ": --verify: the original cannot run: " + one_line(error)};
        }
        device.synchronize();
        outcome.seconds = double(device.now() - began) * 1e-9;
        outcome.peak = Bytes(device.peak_bytes() - before);
        generator = device.generator_state();
        return outcome;
    }
};

/// Time of all runs over the time of first runs, in the same step; for ops that run on the host the graph says what
/// they take on the device. With `over_links` that of the step in which runs wait for copies.
double overhead_of(const Graph& graph, const std::vector<Step>& steps,
                   const std::vector<StepMeasure>& measures, const TransferPlan* over_links,
                   const Links& links) {
    IdVector<OpId, std::uint8_t> ran(graph.ops.size(), 0);
    std::vector<Nanoseconds> times(steps.size());
    Nanoseconds all, first;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].kind == StepKind::run_host) first += graph.ops[steps[i].op()].time;
        if (!steps[i].runs()) continue;
        times[i] = Nanoseconds(measures[i].end - measures[i].start);
        all += times[i];
        if (!ran[steps[i].op()]) first += times[i];
        ran[steps[i].op()] = true;
    }
    if (over_links) all = time_on_links(graph, *over_links, links, times);
    return first.value > 0 ? double(all.value) / double(first.value) : 1;
}

class Session {
  public:
    Session(const Plan& plan, const RunOptions& options, DeviceRuntime& device, Model model,
            Executor executor, const std::optional<Room>& room)
        : plan_(plan),
          options_(options),
          device_(device),
          model_(std::move(model)),
          executor_(std::move(executor)) {
        report_.steps = options.steps;
        report_.budget = plan.schedule.budget;
        report_.predicted_peak = plan.schedule.peak;
        report_.overhead_predicted = plan.schedule.overhead;
        report_.room = room;
        report_.host_runs = static_cast<std::size_t>(host_runs(plan.schedule.steps));
        report_.updates_on_host = report_.host_runs > 0 && !device.device().is_cpu();
        if (executor_.tape().optimizer) report_.optimizer = executor_.tape().optimizer->name();
        if (options.links.copies) executor_.use(options.links);
        if (plan.schedule.host_peak && plan.schedule.host_peak->value > 0)
            report_.predicted_host_peak = plan.schedule.host_peak;
        device_.seed_generator(options.seed);
        generator_ = device_.generator_state();
    }

    Result<RunReport> run(OriginalModel* original) {
        if (original) original->generator = device_.generator_state();
        if (original && executor_.tape().optimizer)
            original->optimizer.emplace(original->model, executor_.tape(), updated_on_host());
        report_.outputs_identical = report_.gradients_identical = report_.buffers_identical =
            report_.random_state_identical = report_.states_identical = original != nullptr;
        const int warm_up = original || options_.cuda_graphs ? 1 : 0;
        const int extra = options_.trace || !original ? 0 : 1;
        const int total = warm_up + options_.steps;
        for (int i = 0; i < total; ++i) {
            if (options_.progress)
                options_.progress(i < warm_up ? "warm-up" : "run", double(i) / (total + extra));
            if (Result<void> done = step(i, i >= warm_up, original); !done) return done.error();
            if (i == 0 && options_.cuda_graphs) capture_graphs(inputs_of(i));
        }
        executor_.drop_graphs();  // its memory is needed
        if (Result<void> measured = measure_overhead(total); !measured) return measured.error();
        report_.time_ratio_to_eager = median(ratios_);
        if (original) judge();
        return report_;
    }

  private:
    /// The names of parameters that the plan updates there, on a GPU.
    std::set<std::string> updated_on_host() const {
        std::set<TensorId> updated;
        for (const Step& step : plan_.schedule.steps)
            if (step.kind == StepKind::run_host && report_.updates_on_host)
                for (TensorId tensor : plan_.graph.ops[step.op()].mutates) updated.insert(tensor);
        std::set<std::string> names;
        for (const Binding& binding : executor_.tape().bindings)
            if (updated.contains(binding.operand.tensor)) names.insert(binding.name);
        return names;
    }

    std::vector<at::Tensor> inputs_of(int step) {
        std::vector<InputSpec> specs;
        for (const auto& input : executor_.tape().inputs) specs.push_back(input.first);
        std::vector<at::Tensor> inputs = draw_inputs(specs, options_.seed * 1000003 + step);
        for (at::Tensor& input : inputs) input = input.to(device_.device());
        return inputs;
    }

    Result<StepOutcome> replay(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed) {
        device_.set_generator_state(*generator_);
        const std::int64_t began = device_.now();
        Result<Replayed> step = report_.cuda_graphs
                                    ? executor_.run_graphs(inputs, gradient_seed)
                                    : executor_.run(plan_.schedule.steps, inputs,
                                                    {.gradient_seed = gradient_seed, .arena = options_.arena},
                                                    plan_.schedule.homes);
        if (!step) return step.error();
        report_.memory = step->memory;
        if (step->slab.value > 0)
            report_.measured_host_peak =
                std::max(report_.measured_host_peak.value_or(Bytes()), step->host_peak);
        report_.slab = step->slab;
        StepOutcome outcome{.outputs = std::move(step->outputs),
                            .gradients = std::move(step->gradients),
                            .generator = device_.generator_state(),
                            .peak = step->peak};
        outcome.seconds = double(device_.now() - began) * 1e-9;
        generator_ = device_.generator_state();
        return outcome;
    }

    /// Once libraries have chosen their kernels. Without graphs, plain replay goes on.
    void capture_graphs(const std::vector<at::Tensor>& inputs) {
        const Result<void> captured = executor_.capture_graphs(plan_.schedule.steps, inputs);
        report_.cuda_graphs = static_cast<bool>(captured);
        if (!captured) report_.why_no_cuda_graphs = captured.error().message;
    }

    Result<void> step(int index, bool timed, OriginalModel* original) {
        const std::vector<at::Tensor> inputs = inputs_of(index);
        const std::uint64_t gradient_seed = options_.seed * 7919 + index;
        StepOutcome first;
        if (original) {
            Result<StepOutcome> eager = original->step(inputs, executor_.tape().loss, gradient_seed, device_);
            if (!eager) return eager.error();
            first = eager.take();
            report_.original_peak = std::max(report_.original_peak, first.peak);
        }
        Result<StepOutcome> replayed = replay(inputs, gradient_seed);
        if (!replayed) return replayed.error();
        report_.measured_peak = std::max(report_.measured_peak, replayed->peak);
        if (timed) report_.step_seconds.push_back(replayed->seconds);
        descend(model_, replayed->gradients);
        if (!original) return {};
        descend(original->model, first.gradients);
        if (timed) ratios_.push_back(replayed->seconds / first.seconds);
        report_.outputs_identical &= identical(first.outputs, replayed->outputs);
        report_.gradients_identical &= identical(first.gradients, replayed->gradients);
        report_.random_state_identical &= generator_->equals(*original->generator);
        if (original->optimizer)
            report_.states_identical &= identical(original->optimizer->states(), executor_.states());
        for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
            report_.buffers_identical &=
                identical(model_.tensors[i].tensor, original->model.tensors[i].tensor);
        }
        return {};
    }

    /// One more replay with a clock around each op.
    Result<void> measure_overhead(int index) {
        Result<Replayed> step = executor_.run(plan_.schedule.steps, inputs_of(index),
                                              {.gradient_seed = 1, .time_ops = true, .arena = options_.arena},
                                              plan_.schedule.homes);
        if (!step) return step.error();
        const auto transfers = executor_.transfers_of(plan_.schedule.steps, plan_.schedule.homes);
        if (!transfers) return transfers.error();
        const bool simulated = *transfers && device_.device().is_cpu();
        const Links of_graph = plan_.graph.device ? plan_.graph.device->links : Links{};
        report_.overhead_measured = overhead_of(plan_.graph, plan_.schedule.steps, step->steps,
                                                simulated ? &(*transfers)->transfers : nullptr,
                                                plan_.schedule.links.value_or(of_graph));
        if (options_.trace) report_.trace = std::move(step->steps);
        return {};
    }

    void judge() {
        const auto complain = [&](const std::string& what) {
            report_.mismatch += (report_.mismatch.empty() ? "" : "; ") + what;
        };
        if (!report_.outputs_identical) complain("outputs differ from the original's");
        if (!report_.gradients_identical) complain("gradients differ from the original's");
        if (!report_.buffers_identical) complain("parameters or buffers differ from the original's");
        if (!report_.states_identical) complain("states of the optimizer differ from the original's");
        if (!report_.random_state_identical) complain("random state differs from the original's");
        if (double(report_.measured_peak.value) >
            double(report_.predicted_peak.value) * (1 + peak_tolerance)) {
            complain("measured peak " + std::to_string(report_.measured_peak.value) +
                     " bytes is above the predicted " + std::to_string(report_.predicted_peak.value));
        }
        if (report_.budget.value > 0 && report_.measured_peak > report_.budget) {
            complain("measured peak " + std::to_string(report_.measured_peak.value) +
                     " bytes is above the budget of " + std::to_string(report_.budget.value));
        }
        if (report_.measured_host_peak != report_.predicted_host_peak) {
            complain("measured peak on the host " +
                     std::to_string(report_.measured_host_peak.value_or(Bytes()).value) +
                     " bytes is not the predicted " +
                     std::to_string(report_.predicted_host_peak.value_or(Bytes()).value));
        }
        if (plan_.schedule.addresses && report_.memory.arena_bytes > 0 &&
            residents() + report_.memory.arena_bytes > report_.budget.value) {
            complain("the arena with what is resident takes " +
                     std::to_string(residents() + report_.memory.arena_bytes) +
                     " bytes, above the budget of " + std::to_string(report_.budget.value));
        }
        report_.verified = report_.mismatch.empty();
    }

    /// Those that are on the device between steps.
    std::int64_t residents() const {
        const IdVector<TensorId, char> there = on_device_at_start(plan_.graph, plan_.schedule.homes);
        std::int64_t bytes = 0;
        for (TensorId tensor : plan_.graph.tensors.ids())
            if (there[tensor]) bytes += plan_.graph.tensors[tensor].bytes.value;
        return bytes;
    }

    const Plan& plan_;
    const RunOptions& options_;
    DeviceRuntime& device_;
    Model model_;
    Executor executor_;
    RunReport report_;
    std::unique_ptr<GeneratorState> generator_;
    std::vector<double> ratios_;
};

/// The model that is trained by the plan. Of a GPU's steps, what lives on the host never takes memory of the device;
/// then `states` are those of the optimizer.
Result<Model> load_replayed(const Plan& plan, const std::filesystem::path& path, DeviceRuntime& device,
                            std::vector<at::Tensor>& states) {
    const Homes& homes = plan.schedule.homes;
    if (homes.on_host.empty() || device.device().is_cpu()) return load_model(path, device.device());
    Result<Model> model = load_model(path);
    if (!model) return model.error();
    const Result<Tape> tape = tape_of(plan.graph);
    if (!tape) return tape.error();
    Result<PlacedTensors> placed = place_by_homes(model->tensors, *tape, homes, device);
    if (!placed) return Error{model->file_name + ": " + placed.error().message};
    model->program = nullptr;  // which holds all tensors on the host
    model->tensors = std::move(placed->tensors);
    states = std::move(placed->states);
    return model;
}

}  // namespace

Result<RunReport> run_plan(const Plan& plan, const std::filesystem::path& path, const RunOptions& options,
                           DeviceRuntime& device) {
    if (const CheckReport checked = check(plan.graph, plan.schedule); !checked.ok()) {
        return Error{"the schedule is not valid for graph " + plan.graph.name + ": " +
                     checked.violations.front()};
    }
    if (options.progress) options.progress("load", 0.0);
    // The kernels that it was captured with.
    if (device.settings() && plan.graph.provenance && plan.graph.provenance->contains("settings"))
        device.put_in_force(settings_from((*plan.graph.provenance)["settings"]));
    std::vector<at::Tensor> states;
    Result<Model> model = load_replayed(plan, path, device, states);
    if (!model) return model.error();
    Result<Tape> tape = tape_of(plan.graph);
    if (!tape) return tape.error();
    Result<Executor> executor = Executor::create(plan.graph, tape.take(), model->tensors, model->file_name,
                                                 device, std::move(states));
    if (!executor) return executor.error();
    if (options.verify && !executor->tape().packing.empty())
        return Error{plan.graph.name +
                     ": --verify: the plan was made from a Python module, of which a TorchScript file may be "
                     "another program: rematlas run package.module:function x.plan --verify"};
    at::set_num_threads(executor->tape().threads);

    std::int64_t resident_bytes = device.library_workspace();
    const auto made_by = producers(plan.graph);
    for (TensorId tensor : plan.graph.tensors.ids()) {
        const TensorKind kind = plan.graph.tensors[tensor].kind;
        if (!made_by[tensor].valid() && kind != TensorKind::constant)
            resident_bytes += plan.graph.tensors[tensor].bytes.value;
    }
    const std::vector<FixedInput> fixed = executor->tape().fixed;
    const std::optional<Room> room =
        room_for(plan.graph, plan.schedule.steps, device, plan.schedule.homes, plan.schedule.links);
    if (room) {
        Bytes there(flatten(plan.graph).resident_bytes);
        for (const Tensor& tensor : plan.graph.tensors)
            if (tensor.kind == TensorKind::input) there -= tensor.bytes;  // they are drawn for each step
        for (TensorId tensor : plan.schedule.homes.on_host)
            if (!made_by[tensor].valid()) there -= plan.graph.tensors[tensor].bytes;
        if (Result<void> fits = check_room(*room, there, device); !fits)
            return Error{model->file_name + ": " + fits.error().message};
    }
    Session session(plan, options, device, *model, executor.take(), room);
    if (!options.verify) return session.run(nullptr);
    Result<Model> second = load_model(path, device.device());
    if (!second) return second.error();
    second->fixed = fixed;
    OriginalModel original{.model = second.take(), .generator = nullptr, .resident_bytes = resident_bytes};
    return session.run(&original);
}

}  // namespace rematlas
