// One training step of a model through autograd: forward, loss, and gradients of the parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/model/input_spec.h"
#include "runtime/model/model.h"

namespace rematlas {

/// `output`: the caller computes the loss, and gives the gradients of the outputs. `cross_entropy`: the loss
/// compares the first output with an extra integer input. The axis of the classes is the last axis if the
/// output has up to three dimensions, and axis 1 if it has more (images).
enum class Loss { output, sum, mean, cross_entropy };
std::string_view to_string(Loss loss);
std::optional<Loss> loss_from(std::string_view name);

/// Returns the specification of the target that Loss::cross_entropy needs for these outputs of the model.
Result<InputSpec> cross_entropy_target(const std::vector<at::Tensor>& outputs);

struct StepResult {
    std::vector<at::Tensor> outputs;  ///< outputs of the model, then the loss unless the caller computes it
    std::vector<at::Tensor>
        gradients;  ///< gradients of Model::trained(), in order; undefined if the outputs do not depend on
                    ///< the parameter
};

/// A gradient that the recorded step made. It belongs to the parameter with the name `parameter`, or to the
/// input at the position `input`.
struct GradientMade {
    std::string parameter;
    int input = -1;
    at::Tensor gradient;  ///< undefined if there is no gradient
};

/// Returns the gradients of a step with the names of their parameters.
std::vector<GradientMade> gradients_made(const Model& model, const StepResult& step);

/// Functions that are called between the parts of the step. Each function may be empty.
struct StepObserver {
    std::function<void()> loss_begins;
    std::function<void()> backward_begins;
    /// Called only with Loss::output. `outputs` are the outputs that need a gradient, `gradients` their
    /// gradients.
    std::function<void(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& gradients)>
        gradients_given;
    /// Makes the gradients of the outputs. If this function is empty, the gradients are random.
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& outputs)> make_gradients = {};
    /// Makes the target of Loss::cross_entropy. If this function is empty, the target is the last input.
    std::function<at::Tensor(const std::vector<at::Tensor>& outputs)> make_target = {};
    /// Whether the backward accumulates gradients in the parameters' `grad`, as in a training loop. The step
    /// then takes them from `grad`.
    bool accumulates = false;
};

/// Fills the gradients of outputs with numbers from a separate generator, so that the model's random numbers
/// do not change.
void draw_output_gradients(std::vector<at::Tensor>& gradients, std::uint64_t seed);

/// Runs one training step. With Loss::cross_entropy the target is the last of `inputs`, unless the observer
/// makes it. Throws the exceptions of the model.
StepResult training_step(Model& model, const std::vector<at::Tensor>& inputs, Loss loss,
                         std::uint64_t gradient_seed, const StepObserver& observer = {});

/// Takes a small plain gradient step, so that the next training step has other weights. `gradients`: as in
/// StepResult.
void descend(Model& model, const std::vector<at::Tensor>& gradients);

}  // namespace rematlas
