#include "runtime/training/scheduled_module.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <unordered_map>

#include "core/checking/check.h"
#include "core/schedule/schedule_file.h"
#include "runtime/allocator/counting_allocator.h"

namespace rematlas {

Result<ScheduledModule> ScheduledModule::load(const std::filesystem::path& path,
                                              const std::vector<NamedTensor>& tensors,
                                              const std::string& owner, const std::string& device) {
    CountingAllocator::install(CountingAllocator::Heap::callers);
    Result<Plan> plan = read_plan_or_schedule(path);
    if (!plan) return plan.error();
    if (const CheckReport checked = check(plan->graph, plan->schedule); !checked.ok())
        return Error{path.string() +
                     ": the schedule is not valid for its graph: " + checked.violations.front()};
    Result<std::unique_ptr<DeviceRuntime>> opened = open_device(device, {.own_process = false});
    if (!opened) return opened.error();
    Result<Tape> tape = tape_of(plan->graph);
    if (!tape) return tape.error();
    Result<std::shared_ptr<PlannedStep>> step =
        PlannedStep::create(std::make_shared<const Graph>(std::move(plan->graph)), tape.take(),
                            plan->schedule, tensors, owner, opened.take());
    if (!step) return step.error();

    std::unordered_map<std::string, at::Tensor> by_name;
    for (const NamedTensor& named : tensors) by_name.emplace(named.name, named.tensor);
    std::vector<at::Tensor> bound, trained;
    std::vector<NamedTensor> frozen;
    for (const GradientOf& gradient : (*step)->tape().gradients)
        if (gradient.input < 0) trained.push_back(by_name.at(gradient.parameter));
    for (const Binding& binding : (*step)->tape().bindings) {
        bound.push_back(by_name.at(binding.name));
        const bool is_trained = std::any_of(trained.begin(), trained.end(), [&](const at::Tensor& other) {
            return other.is_same(bound.back());
        });
        if (!is_trained) frozen.push_back({binding.name, bound.back(), binding.is_parameter});
    }
    return ScheduledModule(step.take(), std::move(bound), std::move(frozen));
}

Result<void> ScheduledModule::check_gradients(const std::vector<at::Tensor>& inputs) const {
    if (!at::GradMode::is_enabled())
        return Error{"gradients are switched off: run the model itself, a plan is for training"};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& made = step_->tape().gradients;
        const bool planned = std::any_of(made.begin(), made.end(), [&](const GradientOf& gradient) {
            return gradient.input == static_cast<int>(i);
        });
        if (inputs[i].requires_grad() && !planned)
            return Error{"input " + std::to_string(i) + " requires a gradient, which the plan does not make"};
    }
    for (const NamedTensor& named : frozen_) {
        if (named.tensor.requires_grad())
            return Error{named.name +
                         " requires a gradient, which the plan does not make: it did not when the model was "
                         "captured; plan again"};
    }
    return {};
}

Result<std::vector<at::Tensor>> ScheduledModule::forward(const std::vector<at::Tensor>& inputs) {
    if (Result<void> checked = check_gradients(inputs); !checked) return checked.error();
    Result<PlannedForward> step = step_->forward(tensors_, inputs, /*arena=*/false, /*measured=*/false, {});
    if (!step) return step.error();
    return std::move(step->outputs);
}

}  // namespace rematlas
