#include "runtime/model/fused_optimizer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>

#include <map>
#include <tuple>
#include <utility>

namespace rematlas {
namespace {

/// Returns the gradient in the form in which autograd accumulates it: with the parameter's strides.
at::Tensor laid_as(const at::Tensor& parameter, const at::Tensor& gradient) {
    if (gradient.strides() == parameter.strides()) return gradient;
    return at::empty_like(parameter).copy_(gradient);
}

}  // namespace

FusedOptimizer::FusedOptimizer(const Optimizer& optimizer, std::vector<at::Tensor> parameters)
    : optimizer_(optimizer),
      kept_(optimizer.states()),
      parameters_(std::move(parameters)),
      begun_(parameters_.size()),
      on_host_(parameters_.size()),
      lr_(at::full({}, optimizer.lr, c10::TensorOptions().dtype(c10::ScalarType::Double))) {
    at::NoGradGuard no_grad;
    for (const at::Tensor& parameter : parameters_) {
        auto& states = states_.emplace_back();
        for (const OptimizerState& state : kept_)
            states.push_back(state.counts_steps ? at::full({}, state.initial,
                                                           parameter.options().dtype(c10::ScalarType::Float))
                                                : at::full_like(parameter, state.initial));
    }
}

void FusedOptimizer::step(const std::vector<at::Tensor>& gradients) {
    at::NoGradGuard no_grad;
    std::map<std::tuple<c10::ScalarType, bool, bool>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (gradients[i].defined())
            groups[{parameters_[i].scalar_type(), begun_[i], on_host_[i]}].push_back(i);
    for (const auto& [kind, group] : groups) update(group, gradients);
}

void FusedOptimizer::update(const std::vector<std::size_t>& group, const std::vector<at::Tensor>& gradients) {
    std::map<std::string, std::vector<at::Tensor>> lists;
    const bool first = !begun_[group.front()];
    std::vector<std::pair<at::Tensor, at::Tensor>> copied;  // copies on the host, each with its original
    const auto there = [&](const at::Tensor& tensor) {
        if (!on_host_[group.front()] || tensor.is_cpu()) return tensor;
        return copied.emplace_back(tensor.cpu(), tensor).first;
    };
    for (const std::size_t i : group) {
        lists["self"].push_back(there(parameters_[i]));
        lists["grads"].push_back(there(laid_as(parameters_[i], gradients[i])));
        for (std::size_t s = 0; s < kept_.size(); ++s) {
            if (kept_[s].counts_steps) states_[i][s].add_(1);
            lists[kept_[s].argument].push_back(there(states_[i][s]));
        }
        begun_[i] = true;
    }
    const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow(optimizer_.op().c_str(), Optimizer::overload);
    torch::jit::Stack stack;
    for (const c10::Argument& argument : op.schema().arguments()) {
        if (argument.name() == "lr")
            stack.emplace_back(lr_);
        else if (argument.name() == "is_first_step")
            stack.emplace_back(first);
        else if (argument.type()->kind() == c10::TypeKind::ListType)
            stack.emplace_back(lists[argument.name()]);
        else
            stack.push_back(optimizer_.value_of(argument.name()));
    }
    op.callBoxed(stack);
    for (auto& [copy, original] : copied) original.copy_(copy);
}

}  // namespace rematlas
