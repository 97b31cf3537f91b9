#include "runtime/verify/plan_run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/homes.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/home_tensors.h"
#include "runtime/replay/original_optimizer.h"

namespace rematlas {
namespace {

/// The original model, run through autograd.
struct OriginalModel {
    Model model;
    std::int64_t resident_bytes;
    std::unique_ptr<GeneratorState> generator = nullptr;  ///< generator's state before the model's next step
    std::optional<OriginalOptimizer> optimizer = {};      ///< set if the optimizer is part of the step

    Result<StepOutcome> step(const std::vector<at::Tensor>& inputs, Loss loss, std::uint64_t seed,
                             DeviceRuntime& device) {
        device.set_generator_state(*generator);
        device.synchronize();
        device.reset_peak();
        const std::int64_t before = device.alive_bytes() - resident_bytes;
        const std::int64_t began = device.now();
        StepOutcome outcome;
        try {
            StepResult result = training_step(model, inputs, loss, seed);
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
        outcome.generator = device.generator_state();
        descend(model, outcome.gradients);
        for (const NamedTensor& tensor : model.tensors) outcome.tensors.push_back(tensor.tensor);
        if (optimizer) outcome.states = optimizer->states();
        return outcome;
    }
};

/// Returns the time of all runs divided by the time of the first runs, both of one training step. A first run
/// on the host counts with the time that the graph gives for the op on the device. With `over_links`, the
/// time of all runs is replaced by the time of the training step, in which runs wait for copies.
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

class PlanRun : public PairedSides {
  public:
    PlanRun(const Plan& plan, const RunOptions& options, DeviceRuntime& device, Model model,
            Executor executor, const std::optional<Room>& room)
        : plan_(plan),
          options_(options),
          device_(device),
          model_(std::move(model)),
          executor_(std::move(executor)) {
        for (const auto& input : executor_.tape().inputs) specs_.push_back(input.first);
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

    void compare_with(OriginalModel original) {
        original_ = std::move(original);
        original_->generator = device_.generator_state();
        if (executor_.tape().optimizer)
            original_->optimizer.emplace(original_->model, executor_.tape(), updated_on_host());
    }

    Result<RunReport> run() {
        const bool one_more = !options_.trace && original_;
        const PairedOptions pairs{.steps = options_.steps,
                                  .warm_up = original_ || options_.cuda_graphs ? 1 : 0,
                                  .verify = original_.has_value(),
                                  .seed = options_.seed,
                                  .progress = options_.progress,
                                  .more_steps = one_more ? 1 : 0};
        if (Result<void> done = train_in_pairs(*this, pairs, device_, report_); !done) return done.error();
        executor_.drop_graphs();  // frees memory that is needed now
        if (Result<void> measured = measure_overhead(static_cast<std::uint64_t>(pairs.warm_up + pairs.steps));
            !measured)
            return measured.error();
        if (original_) judge();
        return report_;
    }

    const std::vector<InputSpec>& inputs() const override { return specs_; }

    Result<StepOutcome> run_original(const std::vector<at::Tensor>& inputs, std::uint64_t seed) override {
        return original_->step(inputs, executor_.tape().loss, seed, device_);
    }

    Result<StepOutcome> run_own(std::vector<at::Tensor> inputs, std::uint64_t seed, bool warms_up) override {
        Result<StepOutcome> replayed = replay(inputs, seed);
        if (!replayed) return replayed;
        if (!warms_up) report_.step_seconds.push_back(replayed->seconds);
        descend(model_, replayed->gradients);
        for (const NamedTensor& tensor : model_.tensors) replayed->tensors.push_back(tensor.tensor);
        if (original_ && original_->optimizer) replayed->states = executor_.states();
        // Graphs are captured only now, because the libraries have chosen their kernels by now.
        if (options_.cuda_graphs && !graphs_were_tried_) capture_graphs(inputs);
        return replayed;
    }

  private:
    /// Returns the names of the parameters that the plan updates on the host; empty if the device is the CPU.
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

    /// Tries to capture the step as graphs. If that fails, the step is replayed without graphs.
    void capture_graphs(const std::vector<at::Tensor>& inputs) {
        graphs_were_tried_ = true;
        const Result<void> captured = executor_.capture_graphs(plan_.schedule.steps, inputs);
        report_.cuda_graphs = static_cast<bool>(captured);
        if (!captured) report_.why_no_cuda_graphs = captured.error().message;
    }

    /// Replays the step once more and times each op.
    Result<void> measure_overhead(std::uint64_t step) {
        Result<Replayed> timed = executor_.run(
            plan_.schedule.steps, inputs_of_step(step, specs_, options_.seed, device_),
            {.gradient_seed = 1, .time_ops = true, .arena = options_.arena}, plan_.schedule.homes);
        if (!timed) return timed.error();
        const auto transfers = executor_.transfers_of(plan_.schedule.steps, plan_.schedule.homes);
        if (!transfers) return transfers.error();
        const bool simulated = *transfers && device_.device().is_cpu();
        const Links of_graph = plan_.graph.device ? plan_.graph.device->links : Links{};
        report_.overhead_measured = overhead_of(plan_.graph, plan_.schedule.steps, timed->steps,
                                                simulated ? &(*transfers)->transfers : nullptr,
                                                plan_.schedule.links.value_or(of_graph));
        if (options_.trace) report_.trace = std::move(timed->steps);
        return {};
    }

    void judge() {
        report_.mismatch = mismatch_of(report_, report_.predicted_peak);
        if (report_.measured_host_peak != report_.predicted_host_peak) {
            complain(report_.mismatch,
                     "measured peak on the host " +
                         std::to_string(report_.measured_host_peak.value_or(Bytes()).value) +
                         " bytes is not the predicted " +
                         std::to_string(report_.predicted_host_peak.value_or(Bytes()).value));
        }
        if (plan_.schedule.addresses && report_.memory.arena_bytes > 0 &&
            residents() + report_.memory.arena_bytes > report_.budget.value) {
            complain(report_.mismatch, "the arena with what is resident takes " +
                                           std::to_string(residents() + report_.memory.arena_bytes) +
                                           " bytes, above the budget of " +
                                           std::to_string(report_.budget.value));
        }
        report_.verified = report_.mismatch.empty();
    }

    /// Returns the bytes of the residents that are on the device between steps.
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
    std::vector<InputSpec> specs_;
    std::optional<OriginalModel> original_;
    RunReport report_;
    std::unique_ptr<GeneratorState> generator_;
    bool graphs_were_tried_ = false;
};

/// Loads the model that is trained by the plan. If the device is a GPU and the plan keeps residents on the
/// host, these residents take no memory of the device, and `states` is set to the tensors of the optimizer.
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
    model->program = nullptr;  // otherwise the program would keep all tensors in host memory
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
    // Makes the device use the kernels with which the step was captured.
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
            if (tensor.kind == TensorKind::input) there -= tensor.bytes;  // inputs are drawn for each step
        for (TensorId tensor : plan.schedule.homes.on_host)
            if (!made_by[tensor].valid()) there -= plan.graph.tensors[tensor].bytes;
        if (Result<void> fits = check_room(*room, there, device); !fits)
            return Error{model->file_name + ": " + fits.error().message};
    }
    PlanRun run(plan, options, device, *model, executor.take(), room);
    if (options.verify) {
        Result<Model> second = load_model(path, device.device());
        if (!second) return second.error();
        second->fixed = fixed;
        run.compare_with({.model = second.take(), .resident_bytes = resident_bytes});
    }
    return run.run();
}

}  // namespace rematlas
