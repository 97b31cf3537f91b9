#include "runtime/model/training_step.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <utility>

#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

constexpr std::array<std::pair<Loss, std::string_view>, 4> losses{{{Loss::output, "output"},
                                                                   {Loss::sum, "sum"},
                                                                   {Loss::mean, "mean"},
                                                                   {Loss::cross_entropy, "cross_entropy"}}};

at::Tensor cross_entropy(const at::Tensor& output, const at::Tensor& target) {
    TORCH_CHECK(output.dim() >= 2, "--loss cross_entropy: the first output has ", output.dim(),
                " dimensions, 2 or more are needed");
    if (output.dim() > 3) return at::cross_entropy_loss(output, target);
    return at::cross_entropy_loss(output.reshape({-1, output.size(-1)}), target.reshape({-1}));
}

at::Tensor loss_of(Loss loss, const std::vector<at::Tensor>& outputs, const at::Tensor& target) {
    if (loss == Loss::cross_entropy) return cross_entropy(outputs.front(), target);
    at::Tensor total;
    for (const at::Tensor& output : outputs) {
        const at::Tensor part = loss == Loss::sum ? at::sum(output) : at::mean(output);
        total = total.defined() ? at::add(total, part) : part;
    }
    return total;
}

/// Makes random gradients, as contiguous tensors. The recorder does not see the ops that make them.
std::vector<at::Tensor> given_gradients(const std::vector<at::Tensor>& outputs, std::uint64_t seed) {
    c10::impl::ExcludeDispatchKeyGuard unseen(own_key);
    at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& output : outputs)
        gradients.push_back(at::empty(output.sizes(), output.options().requires_grad(false)));
    draw_output_gradients(gradients, seed);
    return gradients;
}

}  // namespace

std::string_view to_string(Loss loss) {
    return losses[static_cast<std::size_t>(loss)].second;
}

std::optional<Loss> loss_from(std::string_view name) {
    for (const auto& [loss, known] : losses)
        if (known == name) return loss;
    return std::nullopt;
}

Result<InputSpec> cross_entropy_target(const std::vector<at::Tensor>& outputs) {
    if (outputs.empty() || outputs[0].dim() < 2)
        return Error{"--loss cross_entropy: the first output needs at least two dimensions"};
    std::vector<std::int64_t> sizes = outputs[0].sizes().vec();
    const auto classes = sizes.size() > 3 ? sizes.begin() + 1 : sizes.end() - 1;
    const std::int64_t count = *classes;
    sizes.erase(classes);
    return InputSpec{.dtype = c10::ScalarType::Long, .sizes = std::move(sizes), .bound = count};
}

void draw_output_gradients(std::vector<at::Tensor>& gradients, std::uint64_t seed) {
    at::Generator generator = at::detail::createCPUGenerator(seed);
    for (const at::Tensor& whole : gradients) {
        const at::Tensor gradient = whole.is_complex() ? at::view_as_real(whole) : whole;
        if (gradient.device().is_cpu()) {
            gradient.uniform_(-1.0, 1.0, generator);
        } else {
            gradient.copy_(at::empty(gradient.sizes(), c10::TensorOptions().dtype(gradient.scalar_type()))
                               .uniform_(-1.0, 1.0, generator));
        }
    }
}

StepResult training_step(Model& model, const std::vector<at::Tensor>& inputs, Loss loss,
                         std::uint64_t gradient_seed, const StepObserver& observer) {
    const bool target_is_last = loss == Loss::cross_entropy && !observer.make_target;
    const std::size_t fed = inputs.size() - (target_is_last ? 1 : 0);
    StepResult result;
    result.outputs = model.forward({inputs.begin(), inputs.begin() + fed});

    std::vector<at::Tensor> differentiable;
    for (const at::Tensor& output : result.outputs)
        if (output.defined() && output.requires_grad()) differentiable.push_back(output);
    TORCH_CHECK(!differentiable.empty(),
                "no output of the model requires a gradient: let a parameter require one");

    if (observer.loss_begins) observer.loss_begins();
    std::vector<at::Tensor> roots, seeds;
    if (loss == Loss::output) {
        roots = std::move(differentiable);
        seeds =
            observer.make_gradients ? observer.make_gradients(roots) : given_gradients(roots, gradient_seed);
        if (observer.gradients_given) observer.gradients_given(roots, seeds);
    } else {
        const at::Tensor target = observer.make_target ? observer.make_target(differentiable)
                                  : target_is_last     ? inputs.back()
                                                       : at::Tensor();
        roots = {loss_of(loss, differentiable, target)};
        result.outputs.push_back(roots.front());
    }

    if (observer.backward_begins) observer.backward_begins();
    std::vector<at::Tensor> parameters;
    for (const NamedTensor& named : model.trained()) parameters.push_back(named.tensor);
    if (observer.accumulates) {
        torch::autograd::backward(roots, seeds, /*retain_graph=*/false, /*create_graph=*/false, parameters);
        for (at::Tensor& parameter : parameters)
            result.gradients.push_back(std::exchange(parameter.mutable_grad(), at::Tensor()));
    } else {
        result.gradients = torch::autograd::grad(roots, parameters, seeds, /*retain_graph=*/false,
                                                 /*create_graph=*/false, /*allow_unused=*/true);
    }
    for (at::Tensor& output : result.outputs) output = output.detach();
    return result;
}

std::vector<GradientMade> gradients_made(const Model& model, const StepResult& step) {
    std::vector<GradientMade> made;
    const std::vector<NamedTensor> trained = model.trained();
    for (std::size_t i = 0; i < trained.size(); ++i) made.push_back({trained[i].name, -1, step.gradients[i]});
    return made;
}

void descend(Model& model, const std::vector<at::Tensor>& gradients) {
    at::NoGradGuard no_grad;
    const std::vector<NamedTensor> trained = model.trained();
    for (std::size_t i = 0; i < trained.size(); ++i) {
        const at::Tensor& parameter = trained[i].tensor;
        if (gradients[i].defined()) at::Tensor(parameter).add_(gradients[i].to(parameter.device()), -1e-4);
    }
}

}  // namespace rematlas
