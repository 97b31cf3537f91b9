// One training step of a model as its author meant it: forward, loss, gradients of the parameters, through
// autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/model/input_spec.h"
#include "runtime/model/model.h"

namespace rematlas {

/// `output`: the loss is the caller's, and the gradients of the outputs come from outside. `cross_entropy`:
/// the loss is that of the first output with an extra integer input. Classes lie on the last axis of
/// outputs of up to three dimensions, and on axis 1 of images.
enum class Loss { output, sum, mean, cross_entropy };
std::string_view to_string(Loss loss);
std::optional<Loss> loss_from(std::string_view name);

/// The target that Loss::cross_entropy needs, for these outputs of the model.
Result<InputSpec> cross_entropy_target(const std::vector<at::Tensor>& outputs);

struct StepResult {
    std::vector<at::Tensor> outputs;  ///< outputs of the model, and the loss after them unless the loss is
                                      ///< the caller's
    std::vector<at::Tensor>
        gradients;  ///< gradients of Model::trained(), in order; undefined if the outputs do not depend on
                    ///< the parameter
};

/// A gradient that the recorded step made: of a parameter by name, or of an input by place.
struct GradientMade {
    std::string parameter;
    int input = -1;
    at::Tensor gradient;  ///< undefined where there is none
};

/// The gradients of a step by the names of their parameters.
std::vector<GradientMade> gradients_made(const Model& model, const StepResult& step);

/// Functions that are called between the parts of the step. Each may be empty.
struct StepObserver {
    std::function<void()> loss_begins;
    std::function<void()> backward_begins;
    /// `outputs` are those that need a gradient, `gradients` their gradients. Called only with
    /// Loss::output.
    std::function<void(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& gradients)>
        gradients_given;
    /// Makes the gradients of the outputs, in place of random ones.
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& outputs)> make_gradients = {};
    /// Makes the target of Loss::cross_entropy, where it is not among the inputs.
    std::function<at::Tensor(const std::vector<at::Tensor>& outputs)> make_target = {};
    /// Whether gradients are accumulated in the parameters, as in a training loop, and taken from there.
    bool accumulates = false;
};

/// Draws the gradients of outputs from a separate generator, so that the model's random numbers are not
/// touched.
void draw_output_gradients(std::vector<at::Tensor>& gradients, std::uint64_t seed);

/// `inputs` holds the target last with Loss::cross_entropy. Throws the exceptions of the model.
StepResult training_step(Model& model, const std::vector<at::Tensor>& inputs, Loss loss,
                         std::uint64_t gradient_seed, const StepObserver& observer = {});

/// Takes a small plain gradient step, so that the next training step has other weights. `gradients` as in
/// StepResult.
void descend(Model& model, const std::vector<at::Tensor>& gradients);

}  // namespace rematlas
