#include "runtime/training/comparison.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "core/base/files.h"
#include "runtime/replay/compare.h"

namespace rematlas {

using torch::autograd::edge_list;
using torch::autograd::variable_list;

namespace {

/// Of type, shape and bytes.
std::string digest_of(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    at::NoGradGuard no_grad;
    const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
    return c10::str(tensor.scalar_type(), tensor.sizes()) +
           sha256(std::string_view(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()));
}

}  // namespace

Comparison::Comparison(std::shared_ptr<PlannedStep> step, std::vector<at::Tensor> tensors,
                       std::vector<at::Tensor> inputs)
    : step_(std::move(step)), tensors_(std::move(tensors)), inputs_(std::move(inputs)) {
    const Tape& tape = step_->tape();
    for (std::size_t i = 0; i < tape.gradients.size(); ++i) {
        if (tape.gradients[i].input >= 0) continue;
        for (std::size_t binding = 0; binding < tape.bindings.size(); ++binding)
            if (tape.bindings[binding].name == tape.gradients[i].parameter) {
                trained_.push_back(tensors_[binding]);
                gradient_places_.push_back(static_cast<int>(i));
            }
    }
}

std::vector<at::Tensor> Comparison::begin() {
    if (Result<void> bound = step_->executor().rebind(tensors_); !bound)
        verdict_ = Verdict::other_course, why_ = bound.error().message;
    before_ = step_->executor().snapshot();
    alive_before_ = step_->device().alive_bytes();
    return cut_.begin(inputs_);
}

void Comparison::end(const std::vector<at::Tensor>& outputs) {
    held_ = step_->device().alive_bytes() - alive_before_;
    for (const at::Tensor& output : outputs) outputs_.push_back(digest_of(output));
    after_forward_ = step_->executor().snapshot();
    cut_places_ = cut_.end(outputs, tensors_);
    cut_.connect(
        outputs, trained_, "RematlasComparedBackward",
        [self = shared_from_this()](variable_list&& gradients) { return self->backward(gradients); });
}

CutForward::Gradients Comparison::backward(const variable_list& gradients) {
    const bool keep_graph = torch::autograd::get_current_graph_task_keep_graph();
    const bool create_graph = at::GradMode::is_enabled(), around = cut_.is_reached_around();
    const std::unique_ptr<Snapshot> begun = step_->executor().snapshot();
    const bool keep = keep_graph || around || create_graph;
    CutForward::Gradients made = cut_.backward(gradients, trained_, keep, create_graph);
    if (keep)
        torch::autograd::Engine::get_default_engine().queue_callback(
            [self = shared_from_this()] { self->uncut(); });
    if (create_graph || around || keep_graph) {
        if (verdict_ == Verdict::open)
            verdict_ = Verdict::other_course, why_ = "the backward is of another kind";
    } else if (verdict_ == Verdict::open) {
        replay(gradients, made, *begun);
    }
    return made;
}

void Comparison::uncut() {
    if (verdict_ == Verdict::open) verdict_ = Verdict::other_course, why_ = "several forwards are open";
    cut_.uncut();
}

void Comparison::replay(const variable_list& gradients, const CutForward::Gradients& made,
                        const Snapshot& begun) {
    Executor& executor = step_->executor();
    const std::vector<int> differentiable = executor.differentiable_outputs();
    variable_list given(differentiable.size());
    for (std::size_t i = 0; i < cut_places_.size(); ++i) {
        const auto found = std::find(differentiable.begin(), differentiable.end(), cut_places_[i]);
        const bool asked = found != differentiable.end();
        if (asked != gradients[i].defined()) {
            verdict_ = Verdict::other_course, why_ = "the loss uses other outputs";
            return;
        }
        if (asked) given[static_cast<std::size_t>(found - differentiable.begin())] = gradients[i];
    }
    if (Result<void> fits = executor.check_gradients(given); !fits) {
        verdict_ = Verdict::other_course, why_ = fits.error().message;
        return;
    }
    at::NoGradGuard no_grad;
    const std::unique_ptr<Snapshot> now = executor.snapshot();
    before_->restore();
    const auto conclude = [&](Verdict verdict, std::string why) {
        now->restore();
        verdict_ = verdict;
        why_ = std::move(why);
    };
    Result<Forwarded> forward = executor.forward(step_->schedule().steps, inputs_);
    if (!forward) {
        const bool course = forward.error().kind == ErrorKind::negative;
        return conclude(course ? Verdict::other_course : Verdict::different, forward.error().message);
    }
    std::string why;
    const std::unique_ptr<Snapshot> replayed_forward = executor.snapshot();
    if (!replayed_forward->equals_generator(*after_forward_))
        why = "another state of the random number generator";
    if (why.empty()) {
        for (std::size_t i = 0; i < outputs_.size() && why.empty(); ++i)
            if (digest_of(forward->outputs[i]) != outputs_[i]) why = "another output " + std::to_string(i);
    }
    // Between the halves the caller's loss may have drawn random numbers, and another forward may have moved
    // the buffers on. A plan that moves buffers on in its backward goes on with what its own forward has
    // left.
    if (replayed_forward->different_tensor(*after_forward_).empty())
        begun.restore();
    else if (begun.different_tensor(*after_forward_).empty())
        begun.restore_generator();
    else
        return conclude(Verdict::other_course, "another forward changes the buffers before the backward");
    Result<Replayed> replayed = executor.backward(forward->number, std::move(given));
    if (!replayed) {
        const bool course = replayed.error().kind == ErrorKind::negative;
        return conclude(course ? Verdict::other_course : Verdict::different, replayed.error().message);
    }
    peak_ = replayed->peak;
    for (std::size_t i = 0; i < trained_.size() && why.empty(); ++i)
        if (!identical(replayed->gradients[gradient_places_[i]], made.parameters[i]))
            why = "another gradient of " + step_->tape().gradients[gradient_places_[i]].parameter;
    for (std::size_t i = 0; i < step_->tape().gradients.size() && why.empty(); ++i) {
        const int input = step_->tape().gradients[i].input;
        if (input >= 0 && !identical(replayed->gradients[i], made.inputs[input]))
            why = "another gradient of input " + std::to_string(input);
    }
    const std::unique_ptr<Snapshot> after = executor.snapshot();
    if (const std::string buffer = after->different_tensor(*now); why.empty() && !buffer.empty())
        why = "another " + buffer;
    if (why.empty() && !after->equals_generator(*now)) why = "another state of the random number generator";
    conclude(why.empty() ? Verdict::same : Verdict::different, why.empty() ? "" : "its replay gives " + why);
}

}  // namespace rematlas
