#include "runtime/training/scheduled_module.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "core/schedule/check.h"
#include "core/schedule/schedule_file.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/replay/executor.h"

namespace rematlas {

std::vector<NamedTensor> named_tensors(const torch::jit::Module& module) {
    std::vector<NamedTensor> tensors;
    for (const auto& parameter : module.named_parameters())
        if (parameter.value.defined()) tensors.push_back({parameter.name, parameter.value, true});
    for (const auto& buffer : module.named_buffers())
        if (buffer.value.defined()) tensors.push_back({buffer.name, buffer.value, false});
    return tensors;
}

struct ScheduledModule::State {
    Plan plan;
    std::unique_ptr<DeviceRuntime> device;
    std::optional<Executor> executor;
    std::vector<int> differentiable;  ///< outputs, by place
    std::vector<at::Tensor> trained;  ///< of Tape::gradients, in order
    std::vector<NamedTensor> frozen;  ///< parameters that the plan makes no gradient for
    Bytes last_peak;
    std::mutex running;

    Result<void> check_gradients(const std::vector<at::Tensor>& inputs) const;
};

/// The whole step as one node: from the gradients of the outputs to those of the parameters.
class StepBackward final : public torch::autograd::Node {
  public:
    StepBackward(std::shared_ptr<ScheduledModule::State> state, std::uint64_t number)
        : state_(std::move(state)), number_(number) {
        const auto& gradients = state_->executor->tape().gradients;
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            const bool made = gradients[i].operand != no_operand && state_->trained[i].requires_grad();
            add_next_edge(made ? torch::autograd::impl::gradient_edge(state_->trained[i])
                               : torch::autograd::Edge());
        }
    }
    ~StepBackward() override { release_variables(); }
    std::string name() const override { return "RematlasBackward"; }
    void release_variables() override {
        const std::lock_guard lock(state_->running);
        state_->executor->drop(number_);
    }

    torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
        TORCH_CHECK(!at::GradMode::is_enabled(),
                    "rematlas: a scheduled step has no second derivative (create_graph=True)");
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            TORCH_CHECK(gradients[i].defined(), "rematlas: the loss does not depend on output ",
                        state_->differentiable[i],
                        ", and the plan was made for a loss that does; detach the output in the model and "
                        "plan again");
        }
        const std::lock_guard lock(state_->running);
        Result<Replayed> step = state_->executor->backward(number_, std::move(gradients));
        TORCH_CHECK(step, "rematlas: ", step.error().message);
        state_->last_peak = step->peak;
        return std::move(step->gradients);
    }

  private:
    std::shared_ptr<ScheduledModule::State> state_;
    std::uint64_t number_;
};

ScheduledModule::ScheduledModule(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<ScheduledModule> ScheduledModule::load(const std::filesystem::path& path,
                                              const std::vector<NamedTensor>& tensors,
                                              const std::string& owner, const std::string& device) {
    CountingAllocator::install(CountingAllocator::Heap::callers);
    Result<Plan> plan = read_plan_or_schedule(path);
    if (!plan) return plan.error();
    auto state = std::make_shared<State>();
    state->plan = plan.take();
    if (const CheckReport checked = check(state->plan.graph, state->plan.schedule); !checked.ok())
        return Error{path.string() +
                     ": the schedule is not valid for its graph: " + checked.violations.front()};
    Result<std::unique_ptr<DeviceRuntime>> opened =
        open_device(device, {.deterministic = false, .own_stream = false});
    if (!opened) return opened.error();
    state->device = opened.take();
    Result<Executor> executor = Executor::create(state->plan.graph, tensors, owner, *state->device);
    if (!executor) return executor.error();
    state->executor.emplace(executor.take());
    state->differentiable = state->executor->differentiable_outputs();
    if (state->differentiable.empty())
        return Error{path.string() +
                     ": the graph has a loss of its own; capture it with the caller's (--loss output)"};

    std::unordered_map<std::string, at::Tensor> by_name;
    for (const NamedTensor& named : tensors) by_name.emplace(named.name, named.tensor);
    for (const GradientOf& gradient : state->executor->tape().gradients)
        state->trained.push_back(by_name.at(gradient.parameter));
    for (const Binding& binding : state->executor->tape().bindings) {
        const at::Tensor& tensor = by_name.at(binding.name);
        const bool trained = std::any_of(state->trained.begin(), state->trained.end(),
                                         [&](const at::Tensor& other) { return other.is_same(tensor); });
        if (!trained) state->frozen.push_back({binding.name, tensor, binding.is_parameter});
    }
    return ScheduledModule(std::move(state));
}

Result<void> ScheduledModule::State::check_gradients(const std::vector<at::Tensor>& inputs) const {
    if (!at::GradMode::is_enabled())
        return Error{"gradients are switched off: run the model itself, a plan is for training"};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].requires_grad())
            return Error{"input " + std::to_string(i) +
                         " requires a gradient, and the plan makes gradients of parameters only"};
    }
    for (const NamedTensor& named : frozen) {
        if (named.tensor.requires_grad())
            return Error{named.name +
                         " requires a gradient, which the plan does not make: it did not when the model was "
                         "captured; plan again"};
    }
    return {};
}

Result<std::vector<at::Tensor>> ScheduledModule::forward(const std::vector<at::Tensor>& inputs) {
    State& state = *state_;
    if (Result<void> checked = state.check_gradients(inputs); !checked) return checked.error();
    std::unique_lock lock(state.running);
    Result<Forwarded> step = state.executor->forward(state.plan.schedule.steps, inputs);
    if (!step) return step.error();
    state.last_peak = step->peak;
    lock.unlock();
    const bool trains = std::any_of(state.trained.begin(), state.trained.end(),
                                    [](const at::Tensor& tensor) { return tensor.requires_grad(); });
    if (trains) {
        const auto node = std::shared_ptr<StepBackward>(new StepBackward(state_, step->number),
                                                        torch::autograd::deleteNode);
        for (int place : state.differentiable)
            torch::autograd::create_gradient_edge(step->outputs[place], node);
    } else {
        state.executor->drop(step->number);
    }
    return std::move(step->outputs);
}

Bytes ScheduledModule::predicted_peak() const {
    return state_->plan.schedule.peak;
}
Bytes ScheduledModule::budget() const {
    return state_->plan.schedule.budget;
}
double ScheduledModule::predicted_overhead() const {
    return state_->plan.schedule.overhead;
}
int ScheduledModule::threads() const {
    return state_->executor->tape().threads;
}
Bytes ScheduledModule::last_peak() const {
    return state_->last_peak;
}

Result<std::vector<std::string>> ScheduledModule::tensor_names(const std::filesystem::path& path) {
    Result<Plan> plan = read_plan_or_schedule(path);
    if (!plan) return plan.error();
    const Graph& graph = plan->graph;
    if (!graph.replay) return Error{path.string() + ": the graph holds nothing to replay"};
    Result<Tape> tape = tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size());
    if (!tape) return tape.error();
    std::vector<std::string> names;
    for (const Binding& binding : tape->bindings) names.push_back(binding.name);
    return names;
}

}  // namespace rematlas
