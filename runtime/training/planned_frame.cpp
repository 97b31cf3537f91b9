#include "runtime/training/planned_frame.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_map>

#include "runtime/training/outside_gradients.h"
#include "runtime/training/python_error.h"

namespace rematlas {

using torch::autograd::Edge;
using torch::autograd::variable_list;

namespace {

/// Stands for an output whose backward has run, and has freed what the original's own graph has saved. The
/// backward of another output may still come.
class FreedNode final : public torch::autograd::Node {
  public:
    explicit FreedNode(const Edge& instead_of) {
        input_metadata_.push_back(instead_of.function->input_metadata(instead_of.input_nr));
    }
    std::string name() const override { return "RematlasFreed"; }
    variable_list apply(variable_list&& gradients) override {
        TORCH_CHECK(!gradients[0].defined(), has_run_before);
        return {};
    }
};

}  // namespace

/// While an object of this class lives, the step counts as being in its backward.
class PlannedStep::InBackward {
  public:
    explicit InBackward(PlannedStep& step) : step_(step) { step_.in_backward_ = true; }
    InBackward(const InBackward&) = delete;
    InBackward& operator=(const InBackward&) = delete;
    ~InBackward() { step_.in_backward_ = false; }

  private:
    PlannedStep& step_;
};

variable_list PlannedStep::Frame::backward(std::size_t part, variable_list&& gradients) {
    if (part == 0) gradients = begin(std::move(gradients));
    if (by_original_.empty()) {
        Result<BackwardPartDone> done = [&] {
            const InBackward now(*step_);
            const NotEvicted unseen = step_->not_evicted(gradients);
            try {
                return step_->executor_.backward_part(number_, std::move(gradients));
            } catch (...) {
                if (step_->takes_gradients_)
                    TORCH_WARN(
                        "rematlas: the backward ended amid its updates: some parameters are updated, "
                        "others are not; go back to a checkpoint");
                throw;
            }
        }();
        if (done) return take(part, *done);
        if (done.error().kind != ErrorKind::negative) throw_as_torch_does(done.error());
        run_original(done.error().message, false, false);
    }
    variable_list result;
    for (int place : step_->parts_[part])
        for (const at::Tensor& term : by_original_[place]) result.push_back(term);
    if (part + 1 == step_->parts_.size()) by_original_.clear();
    return result;
}

torch::autograd::edge_list PlannedStep::Frame::original_edges() {
    begun_ = true;
    std::vector<at::Tensor> outputs = forward_of_original("several forwards are open", nullptr);
    torch::autograd::edge_list edges;
    for (int place : step_->with_history_)
        edges.push_back(outputs[place].requires_grad() ? torch::autograd::impl::gradient_edge(outputs[place])
                                                       : Edge());
    return edges;
}

torch::autograd::edge_list PlannedStep::Frame::kept_edges() const {
    torch::autograd::edge_list edges;
    if (!kept_) return edges;
    for (int place : step_->with_history_) {
        const auto found = std::find(kept_places_.begin(), kept_places_.end(), place);
        const auto at = static_cast<std::size_t>(found - kept_places_.begin());
        if (found == kept_places_.end())
            edges.emplace_back();
        else if (freed_[at])
            edges.emplace_back(make_node<FreedNode>(kept_->output_edges()[at]), 0);
        else
            edges.push_back(kept_->output_edges()[at]);
    }
    return edges;
}

variable_list PlannedStep::Frame::begin(variable_list&& gradients) {
    const bool keep_graph = torch::autograd::get_current_graph_task_keep_graph();
    const bool create_graph = at::GradMode::is_enabled();
    std::string why;
    TORCH_CHECK(!begun_, has_run_before);
    TORCH_CHECK(!shared_outputs.happened(),
                "rematlas: outputs that share memory were written to between forward and backward, which "
                "they were not when the step was recorded: their gradients would be others than the "
                "original's; train without a plan (rematlas.remove), or write to copies");
    step_->check_casts();
    begun_ = true;
    variable_list planned(step_->differentiable_.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const auto found =
            std::find(step_->differentiable_.begin(), step_->differentiable_.end(), step_->with_history_[i]);
        if (found != step_->differentiable_.end())
            planned[static_cast<std::size_t>(found - step_->differentiable_.begin())] = gradients[i];
        else if (gradients[i].defined())
            why = "the loss uses an output that the recorded one did not";
    }
    if (const char* differ = step_->why_sums_differ(inputs_)) why = differ;
    if (create_graph) why = "a second derivative is asked for (create_graph=True)";
    if (keep_graph && why.empty()) why = "the backward may run twice (retain_graph=True)";
    if (why.empty())
        why =
            step_->why_gradients_are_wanted([&] { return !original_.has_hooks || original_.has_hooks(id_); });
    if (Result<void> fits = step_->executor_.check_gradients(planned); why.empty() && !fits) {
        const bool complete = std::all_of(planned.begin(), planned.end(),
                                          [](const at::Tensor& gradient) { return gradient.defined(); });
        // If the original cannot be run, the executor copies a gradient whose layout differs from that in the
        // recorded step.
        if (original_.run || !complete) why = fits.error().message;
    }
    if (!why.empty() || step_->is_guarded()) given_ = gradients;
    gradients.clear();
    if (!why.empty()) run_original(why, keep_graph, create_graph);
    return planned;
}

variable_list PlannedStep::Frame::take(std::size_t part, BackwardPartDone& done) {
    std::unordered_map<int, at::Tensor> by_place;
    for (auto& [place, gradient] : done.gradients) by_place[place] = std::move(gradient);
    variable_list result;
    step_->handed_out_.resize(step_->trained_.size());
    for (int place : step_->parts_[part]) {
        const at::Tensor& gradient = by_place[place];
        if (gradient.defined()) note_handed_out(place, gradient);
        result.push_back(std::move(by_place[place]));
        result.resize(result.size() + step_->terms_[place] - 1);
    }
    if (done.last && step_->takes_gradients_) tell_of_taken();
    if (step_->measured_) step_->last_peak = done.peak;
    if (done.last) step_->memory = done.memory;
    return result;
}

void PlannedStep::Frame::note_handed_out(int place, const at::Tensor& gradient) {
    const int binding = step_->trained_[place];
    const at::Tensor parameter = binding >= 0 ? step_->tensors_[binding] : at::Tensor();
    PlannedStep::HandedOut& handed = step_->handed_out_[place];
    handed = {true, gradient.storage().unsafeGetStorageImpl(),
              static_cast<std::uint32_t>(gradient._version())};
    if (parameter.defined() && !torch::autograd::utils::obeys_layout_contract(gradient, parameter))
        handed = {true, nullptr, parameter.is_non_overlapping_and_dense() ? 1u : 0u};
}

void PlannedStep::Frame::tell_of_taken() {
    for (const int binding : step_->updated_) step_->tensors_[binding].unsafeGetTensorImpl()->bump_version();
    look_for_signals();
    if (original_.taken) original_.taken(id_);
    // The callback gets only the number of the frame, because the frame may no longer exist by then. The
    // number is never given to another frame.
    torch::autograd::Engine::get_default_engine().queue_callback([over = original_.over, id = id_] {
        if (over) over(id);
    });
}

std::vector<at::Tensor> PlannedStep::Frame::forward_of_original(const std::string& why, CutForward* cut) {
    TORCH_CHECK(original_.run, "rematlas: ", why);
    ++step_->originals;
    step_->why_original = why;
    Executor& executor = step_->executor_;
    if (Result<void> rewound = executor.rewind(number_); !rewound)
        TORCH_CHECK(false, "rematlas: ", why, "; ", rewound.error().message);
    at::AutoGradMode with_gradients(true);
    std::vector<at::Tensor> outputs;
    try {
        std::vector<bool> used(given_.empty() ? 0 : step_->tape().outputs.size());
        for (std::size_t i = 0; i < given_.size(); ++i) used[step_->with_history_[i]] = given_[i].defined();
        outputs = original_.run(id_, cut ? cut->begin(inputs_) : inputs_, used);
    } catch (...) {
        executor.restore(number_);
        throw;
    }
    executor.restore(number_);
    return outputs;
}

void PlannedStep::Frame::run_original(const std::string& why, bool keep_graph, bool create_graph) {
    const bool keep = keep_graph || create_graph;
    kept_ = std::make_unique<CutForward>();
    const std::vector<at::Tensor> outputs = forward_of_original(why, kept_.get());
    kept_places_ = kept_->end(outputs, step_->tensors_);
    variable_list seeds(kept_places_.size());
    for (std::size_t i = 0; i < given_.size(); ++i) {
        const auto found = std::find(kept_places_.begin(), kept_places_.end(), step_->with_history_[i]);
        TORCH_CHECK(found != kept_places_.end() || !given_[i].defined(), "rematlas: ", why);
        if (found != kept_places_.end())
            seeds[static_cast<std::size_t>(found - kept_places_.begin())] = given_[i];
    }
    given_.clear();
    // A parameter that was frozen after the forward has no gradient.
    const auto is_trained = [&](int binding) {
        return binding >= 0 && step_->tensors_[binding].requires_grad();
    };
    std::vector<at::Tensor> parameters;
    for (int binding : step_->trained_)
        if (is_trained(binding)) parameters.push_back(step_->tensors_[binding]);
    CutForward::Gradients made = kept_->backward(seeds, parameters, keep, create_graph);
    // Outputs without a gradient may get one in a backward of their own, which runs the original's own graph.
    const bool whole = std::all_of(seeds.begin(), seeds.end(),
                                   [](const at::Tensor& gradient) { return gradient.defined(); });
    if (!keep && whole) kept_ = nullptr;
    for (const at::Tensor& gradient : seeds) freed_.push_back(!keep && gradient.defined());
    take_original(std::move(made), parameters.size());
    for (std::size_t i = 0; i < step_->trained_.size(); ++i)
        if (step_->tape().gradients[i].operand == no_operand && !step_->is_taken(i)) accumulate(i);
}

void PlannedStep::Frame::take_original(CutForward::Gradients made, std::size_t parameters) {
    std::unordered_map<std::size_t, variable_list> further;
    for (auto& [place, term] : made.further) further[place].push_back(std::move(term));
    std::size_t next = 0;
    for (std::size_t i = 0; i < step_->trained_.size(); ++i) {
        const int input = step_->tape().gradients[i].input, binding = step_->trained_[i];
        variable_list terms(1);
        if (input >= 0 || (binding >= 0 && step_->tensors_[binding].requires_grad())) {
            const std::size_t place = input >= 0 ? parameters + static_cast<std::size_t>(input) : next;
            terms.front() = input >= 0 ? made.inputs[input] : made.parameters[next++];
            for (at::Tensor& term : further[place]) terms.push_back(std::move(term));
        }
        const std::size_t most = step_->terms_[i];
        TORCH_CHECK(terms.size() <= most, "rematlas: ", summed_otherwise,
                    "; train without a plan (rematlas.remove)");
        terms.resize(most);
        by_original_.push_back(std::move(terms));
    }
}

void PlannedStep::Frame::accumulate(std::size_t place) {
    if (step_->trained_[place] < 0) return;
    at::NoGradGuard no_grad;
    at::Tensor parameter = step_->tensors_[step_->trained_[place]];
    at::Tensor& sum = parameter.mutable_grad();
    for (const at::Tensor& term : by_original_[place])
        if (term.defined()) sum = sum.defined() ? sum.add(term) : term.clone();
}

variable_list PlannedStep::PartNode::apply(variable_list&& gradients) {
    if (passes_on_) return std::move(gradients);
    TORCH_CHECK(frame_, has_run_before);
    variable_list result = frame_->backward(part_, std::move(gradients));
    // A second backward must run the original's own graph. The edges of this node may change only after this
    // backward.
    if (part_ == 0 && !frame_->kept_edges().empty())
        torch::autograd::Engine::get_default_engine().queue_callback(
            [self = getptr(), to = frame_->kept_edges()] { static_cast<PartNode&>(*self).pass_on(to); });
    if (result.size() < num_outputs()) result.push_back(frame_->link());
    ran_ = true;
    return result;
}

}  // namespace rematlas
