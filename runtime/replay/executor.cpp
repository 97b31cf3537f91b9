#include "runtime/replay/executor.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "runtime/model/training_step.h"
#include "runtime/replay/device_graph_step.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

Nanoseconds since(Clock::time_point began) {
    return Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count());
}

}  // namespace

struct Executor::State {
    /// A plan, with the steps and homes from which it was made.
    struct PlanOfSteps {
        std::vector<Step> steps;
        Homes homes;
        std::shared_ptr<const ReplayPlan> plan;

        /// Returns the plan. If it was made from other steps or homes, replaces it with the result of `make`.
        template <class Make>
        Result<std::shared_ptr<const ReplayPlan>> of(std::span<const Step> wanted, const Homes& wanted_homes,
                                                     const Make& make) {
            if (plan && wanted_homes == homes &&
                std::equal(wanted.begin(), wanted.end(), steps.begin(), steps.end()))
                return plan;
            Result<ReplayPlan> made = make();
            if (!made) return made.error();
            steps.assign(wanted.begin(), wanted.end());
            homes = wanted_homes;
            return plan = std::make_shared<const ReplayPlan>(made.take());
        }
    };

    std::unique_ptr<BoundModel> model;
    std::unique_ptr<DeviceGraphStep> graph_step;
    std::vector<std::unique_ptr<ReplayRun>> idle;  ///< runs that are not in use; reusing them saves their
                                                   ///< preparation
    std::map<std::uint64_t, OpenForward> open;     ///< the key is the number of the forward
    std::uint64_t last_number = 0;
    PlanOfSteps whole, halves;

    std::unique_ptr<ReplayRun> free_run() {
        if (idle.empty()) return std::make_unique<ReplayRun>(*model);
        std::unique_ptr<ReplayRun> run = std::move(idle.back());
        idle.pop_back();
        return run;
    }

    Result<std::shared_ptr<const ReplayPlan>> whole_plan(std::span<const Step> steps, const Homes& homes) {
        return whole.of(steps, homes, [&] { return ReplayPlan::make(*model, steps, homes); });
    }

    Result<std::shared_ptr<const ReplayPlan>> halves_plan(std::span<const Step> steps, const Homes& homes) {
        return halves.of(steps, homes,
                         [&] { return ReplayPlan::make_halves(*model, steps, homes, most_parts); });
    }

    Result<OpenForward*> find(std::uint64_t number) {
        const auto found = open.find(number);
        if (found == open.end())
            return Error{"this backward has run before, or its forward was dropped; its tensors are freed"};
        return &found->second;
    }

    void close(std::uint64_t number) {
        const auto found = open.find(number);
        idle.push_back(found->second.release());
        open.erase(found);
    }
};

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

Result<Executor> Executor::create(const Graph& graph, Tape tape, const std::vector<NamedTensor>& tensors,
                                  const std::string& owner, DeviceRuntime& device,
                                  std::vector<at::Tensor> states) {
    Result<std::unique_ptr<BoundModel>> model =
        BoundModel::bind(graph, std::move(tape), tensors, owner, device, std::move(states));
    if (!model) return model.error();
    auto state = std::make_unique<State>();
    state->model = model.take();
    return Executor(std::move(state));
}

Result<Executor> Executor::create(const Graph& graph, const std::vector<NamedTensor>& tensors,
                                  const std::string& owner, DeviceRuntime& device) {
    Result<Tape> tape = tape_of(graph);
    if (!tape) return tape.error();
    return create(graph, tape.take(), tensors, owner, device);
}

Result<Executor> Executor::create(const Graph& graph, const Model& model, DeviceRuntime& device) {
    return create(graph, model.tensors, model.file_name, device);
}

Tape& Executor::change_values() {
    ++state_->model->values_version;
    return state_->model->tape;
}

const Tape& Executor::tape() const {
    return state_->model->tape;
}

const std::vector<at::Tensor>& Executor::states() const {
    return state_->model->states;
}

std::size_t Executor::open() const {
    return state_->open.size();
}

bool Executor::moves_buffers_late() const {
    return !state_->open.empty() && !state_->open.rbegin()->second.run().has_updated_buffers();
}

Result<void> Executor::rebind(const std::vector<at::Tensor>& tensors) {
    return state_->model->rebind(tensors);
}

Result<void> Executor::rebind_states(std::vector<at::Tensor> tensors) {
    return state_->model->rebind_states(std::move(tensors));
}

Result<Replayed> Executor::run(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                               const ReplayOptions& options, const Homes& homes) {
    State& state = *state_;
    const Result<std::shared_ptr<const ReplayPlan>> plan = state.whole_plan(steps, homes);
    if (!plan) return plan.error();
    std::unique_ptr<ReplayRun> run = state.free_run();
    if (Result<void> begun = run->begin(**plan, inputs, options); !begun) return begun.error();
    run->fill_gradients = [&](std::vector<at::Tensor>& made) {
        draw_output_gradients(made, options.gradient_seed);
    };
    Replayed result;
    const auto began = Clock::now();
    Result<void> played = run->play((*plan)->steps.size(), [&] {
        if (options.time_ops) result.steps = run->take_measures();
        run->turns.skip_to(static_cast<int>(state.model->random_ops.size()));
        result.outputs = run->outputs();
        result.gradients = run->gradients();
        run->update_buffers();
        state.model->device.synchronize();
    });
    if (!played) return played.error();
    result.time = since(began);
    result.peak = Bytes(run->peak());
    result.host_peak = run->host_peak();
    result.slab = Bytes(run->slab_bytes());
    result.memory = run->finish();
    state.idle.push_back(std::move(run));
    return result;
}

Result<std::shared_ptr<const StepTransferPlan>> Executor::transfers_of(std::span<const Step> steps,
                                                                       const Homes& homes) {
    const Result<std::shared_ptr<const ReplayPlan>> plan = state_->whole_plan(steps, homes);
    if (!plan) return plan.error();
    return (*plan)->transfers;
}

void Executor::use(StepLinks links) {
    state_->idle.clear();
    *state_->model->links = std::move(links);
}

Result<void> Executor::capture_graphs(std::span<const Step> steps, const std::vector<at::Tensor>& inputs) {
    state_->graph_step = nullptr;
    Result<std::unique_ptr<DeviceGraphStep>> graph_step =
        DeviceGraphStep::capture(*state_->model, steps, inputs);
    if (!graph_step) return graph_step.error();
    state_->graph_step = graph_step.take();
    return {};
}

Result<Replayed> Executor::run_graphs(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed) {
    if (!state_->graph_step) return Error{"no step was captured"};
    DeviceGraphStep& graph_step = *state_->graph_step;
    const auto began = Clock::now();
    if (Result<void> done = graph_step.submit(inputs, gradient_seed); !done) return done.error();
    return Replayed{.outputs = graph_step.outputs,
                    .gradients = graph_step.gradients,
                    .peak = graph_step.peak,
                    .time = since(began)};
}

void Executor::drop_graphs() {
    if (!state_->graph_step) return;
    state_->graph_step = nullptr;
    state_->model->device.trim();
}

Result<Forwarded> Executor::forward(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                                    const ReplayOptions& options, const Homes& homes) {
    State& state = *state_;
    Result<std::shared_ptr<const ReplayPlan>> plan = state.halves_plan(steps, homes);
    if (!plan) return plan.error();
    OpenForward forward(state.free_run(), plan.take());
    Result<std::vector<at::Tensor>> outputs = forward.forward(inputs, options);
    if (!outputs) return outputs.error();
    Forwarded result{.outputs = outputs.take(),
                     .number = ++state.last_number,
                     .parts = forward.plan().parts.size(),
                     .peak = Bytes(forward.run().peak())};
    state.open.emplace(result.number, std::move(forward));
    return result;
}

Result<void> Executor::check_gradients(const std::vector<at::Tensor>& output_gradients) const {
    return check_output_gradients(*state_->model, output_gradients);
}

Result<BackwardPartDone> Executor::backward_part(std::uint64_t number,
                                                 std::vector<at::Tensor> output_gradients) {
    State& state = *state_;
    Result<OpenForward*> found = state.find(number);
    if (!found) return found.error();
    OpenForward& forward = **found;
    auto gradients = [&] {
        try {
            return forward.next_part(std::move(output_gradients));
        } catch (...) {
            state.close(number);
            throw;
        }
    }();
    if (!gradients) {
        if (gradients.error().kind != ErrorKind::negative) state.close(number);
        return gradients.error();
    }
    BackwardPartDone done{
        .gradients = gradients.take(), .last = forward.done(), .peak = Bytes(forward.run().peak())};
    if (done.last) {
        done.memory = forward.run().finish();
        state.close(number);
    }
    return done;
}

Result<Replayed> Executor::backward(std::uint64_t number, std::vector<at::Tensor> output_gradients) {
    State& state = *state_;
    if (Result<OpenForward*> found = state.find(number); !found) return found.error();
    if (const std::size_t needed = state.model->tape.ops[state.model->loss].returns.size();
        output_gradients.size() != needed)
        return Error{std::to_string(needed) + " gradients of outputs are needed, " +
                     std::to_string(output_gradients.size()) + " were given"};
    const auto began = Clock::now();
    Replayed result;
    result.gradients.resize(state.model->tape.gradients.size());
    for (bool last = false; !last; output_gradients.clear()) {
        Result<BackwardPartDone> done = backward_part(number, std::move(output_gradients));
        if (!done) return done.error();
        for (auto& [place, gradient] : done->gradients) result.gradients[place] = std::move(gradient);
        last = done->last;
        result.peak = done->peak;
        result.memory = done->memory;
    }
    result.time = since(began);
    return result;
}

Result<std::vector<std::vector<int>>> Executor::parts_of(std::span<const Step> steps, const Homes& homes) {
    const Result<std::shared_ptr<const ReplayPlan>> plan = state_->halves_plan(steps, homes);
    if (!plan) return plan.error();
    std::vector<std::vector<int>> parts;
    for (const BackwardPart& part : (*plan)->parts) parts.push_back(part.gradients);
    return parts;
}

Result<void> Executor::rewind(std::uint64_t number) {
    Result<OpenForward*> found = state_->find(number);
    if (!found) return found.error();
    (*found)->rewind();
    return {};
}

void Executor::restore(std::uint64_t number) {
    if (Result<OpenForward*> found = state_->find(number)) (*found)->restore();
}

bool Executor::draws() const {
    return !state_->model->random_ops.empty();
}

std::unique_ptr<Snapshot> Executor::snapshot() const {
    return std::make_unique<Snapshot>(*state_->model, Snapshot::Of::all_written);
}

void Executor::drop(std::uint64_t number) {
    if (!state_->open.contains(number)) return;
    state_->open.at(number).run().clear();
    state_->close(number);
}

std::vector<int> Executor::differentiable_outputs() const {
    const BoundModel& model = *state_->model;
    std::vector<int> places;
    if (!model.loss.valid()) return places;
    int place = 0;
    for (int operand : model.tape.ops[model.loss].arguments[0].operands) {
        while (place < static_cast<int>(model.tape.outputs.size()) && model.tape.outputs[place] != operand)
            ++place;
        places.push_back(place++);
    }
    return places;
}

}  // namespace rematlas
