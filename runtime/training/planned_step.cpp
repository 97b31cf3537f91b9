#include "runtime/training/planned_step.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "core/schedule/homes.h"
#include "core/solving/copies.h"
#include "runtime/training/outside_gradients.h"
#include "runtime/training/planned_frame.h"
#include "runtime/training/python_error.h"

namespace rematlas {

using torch::autograd::Edge;

namespace {

std::atomic<std::int64_t> last_frame{0};

/// Says whether the parameter has, or once had, a hook on its gradient.
bool seems_hooked(const at::Tensor& parameter) {
    namespace impl = torch::autograd::impl;
    if (!impl::hooks(parameter).empty() || impl::post_acc_grad_hooks(parameter)) return true;
    const auto accumulates = impl::try_get_grad_accumulator(parameter);
    return accumulates && !(accumulates->pre_hooks().empty() && accumulates->post_hooks().empty());
}

/// Finds the most terms that autograd may have added up to a gradient: one for each operand of the additions
/// with which the gradient ends.
class MostTerms {
  public:
    MostTerms(const Graph& graph, const Tape& tape)
        : graph_(graph), tape_(tape), maker_(producers(graph)), known_(graph.tensors.size(), 0) {}

    std::size_t of(const GradientOf& gradient) {
        if (gradient.operand != no_operand) return of(tape_.operands[gradient.operand].tensor);
        // The step's own optimizer may use the gradient up.
        std::size_t most = 1;
        for (const Binding& binding : tape_.bindings) {
            if (gradient.input >= 0 || binding.name != gradient.parameter) continue;
            for (const Op& op : graph_.ops) {
                const auto& written = op.mutates;
                if (op.phase == Phase::optimizer &&
                    std::find(written.begin(), written.end(), binding.operand.tensor) != written.end())
                    for (const TensorId read : op.inputs) most = std::max(most, of(read));
            }
        }
        return most;
    }

  private:
    std::size_t of(TensorId tensor) {
        std::size_t& known = known_[tensor];
        if (known > 0) return known;
        known = 1;
        const OpId op = maker_[tensor];
        if (!op.valid()) return 1;
        const bool adds = tape_.ops[op].name.starts_with("aten::add");
        std::size_t sum = 0, most = 1;
        if (adds || graph_.ops[op].phase == Phase::optimizer)
            for (const TensorId read : graph_.ops[op].inputs) {
                const std::size_t terms = of(read);
                sum += terms, most = std::max(most, terms);
            }
        return known_[tensor] = adds ? std::max<std::size_t>(2, sum) : most;
    }

    const Graph& graph_;
    const Tape& tape_;
    IdVector<TensorId, OpId> maker_;
    IdVector<TensorId, std::size_t> known_;
};

}  // namespace

PlannedStep::PlannedStep(std::shared_ptr<const Graph> graph, const Schedule& schedule, Executor executor,
                         std::shared_ptr<DeviceRuntime> device)
    : graph_(std::move(graph)),
      schedule_(schedule),
      device_(std::move(device)),
      executor_(std::move(executor)) {}

Result<std::shared_ptr<PlannedStep>> PlannedStep::create(std::shared_ptr<const Graph> graph, Tape tape,
                                                         const Schedule& schedule,
                                                         const std::vector<NamedTensor>& tensors,
                                                         const std::string& owner,
                                                         std::shared_ptr<DeviceRuntime> device,
                                                         std::vector<at::Tensor> states) {
    if (Result<void> possible = moves_in_training(*graph, schedule.steps, schedule.homes); !possible)
        return Error{owner + ": the plan cannot run: " + possible.error().message};
    Result<Executor> executor =
        Executor::create(*graph, std::move(tape), tensors, owner, *device, std::move(states));
    if (!executor) return executor.error();
    std::shared_ptr<PlannedStep> step(
        new PlannedStep(std::move(graph), schedule, executor.take(), std::move(device)));
    step->room_ = room_for(*step->graph_, schedule.steps, *step->device_, schedule.homes, schedule.links);
    step->differentiable_ = step->executor_.differentiable_outputs();
    if (step->differentiable_.empty())
        return Error{owner +
                     ": the graph has a loss of its own; capture it with the caller's (--loss output)"};
    const Tape& bound = step->tape();
    step->with_history_ = step->differentiable_;
    step->with_history_.insert(step->with_history_.end(), bound.unused_outputs.begin(),
                               bound.unused_outputs.end());
    for (const GradientOf& gradient : bound.gradients) {
        const auto found = std::find_if(
            bound.bindings.begin(), bound.bindings.end(),
            [&](const Binding& binding) { return gradient.input < 0 && binding.name == gradient.parameter; });
        step->trained_.push_back(
            found == bound.bindings.end() ? -1 : static_cast<int>(found - bound.bindings.begin()));
    }
    MostTerms most_terms(*step->graph_, bound);
    for (const GradientOf& gradient : bound.gradients) step->terms_.push_back(most_terms.of(gradient));
    std::set<TensorId> updated;
    for (const Op& op : step->graph_->ops)
        if (op.phase == Phase::optimizer) {
            updated.insert(op.mutates.begin(), op.mutates.end());
            step->takes_gradients_ = true;
        }
    for (std::size_t i = 0; i < bound.bindings.size(); ++i)
        if (updated.contains(bound.bindings[i].operand.tensor)) step->updated_.push_back(static_cast<int>(i));
    Result<std::vector<std::vector<int>>> parts =
        step->executor_.parts_of(step->schedule_.steps, step->schedule_.homes);
    if (!parts) return parts.error();
    step->parts_ = parts.take();
    // The plan does not return the gradients that it uses up. The last part of the backward gets their
    // positions, because the original's gradients are returned there if the original has to run.
    for (std::size_t i = 0; i < bound.gradients.size(); ++i)
        if (step->is_taken(i)) step->parts_.back().push_back(static_cast<int>(i));
    return step;
}

/// Says whether the step's own ops use up the gradient; if so, the step does not return it.
bool PlannedStep::is_taken(std::size_t place) const {
    return takes_gradients_ && trained_[place] >= 0 && tape().gradients[place].operand == no_operand;
}

/// Returns why the gradients would be summed in another order than the original sums them; null if they would
/// not. Must be called in a backward that has begun.
const char* PlannedStep::why_sums_differ(const std::vector<at::Tensor>& inputs) const {
    std::vector<at::Tensor> summed_parameters, summed_inputs;
    for (std::size_t i = 0; i < trained_.size(); ++i) {
        const int input = tape().gradients[i].input;
        if (input < 0 && sums_gradients && trained_[i] >= 0)
            summed_parameters.push_back(tensors_[trained_[i]]);
        if (input >= 0 && terms_[i] > 1) summed_inputs.push_back(inputs[input]);
    }
    if (get_gradients_before_this_sum(edges_to(summed_parameters))) return summed_otherwise;
    return get_gradients_before_this_sum(edges_to(summed_inputs)) ? input_summed_otherwise : nullptr;
}

/// Throws if the caller shares casts of parameters with the module. Must be called in a backward that has
/// begun.
void PlannedStep::check_casts() const {
    if (!may_share_casts_) return;
    std::vector<at::Tensor> trained;
    for (const int binding : trained_)
        if (binding >= 0) trained.push_back(tensors_[binding]);
    TORCH_CHECK(!get_gradients_by_casts_from_outside(trained), "rematlas: ", casts_are_shared,
                "; or train without a plan (rematlas.remove)");
}

/// Returns why the step has to return gradients that it would otherwise use up itself; empty if it need not.
/// Must be called in a backward that has begun. `has_hooks` is called if parameters seem to have hooks.
std::string PlannedStep::why_gradients_are_wanted(const std::function<bool()>& has_hooks) const {
    if (!takes_gradients_) return "";
    const auto* asked = torch::autograd::get_current_graph_task_exec_info();
    if (asked && !asked->empty())
        return "gradients are asked for (torch.autograd.grad, or backward with inputs=)";
    std::vector<at::Tensor> taken;
    for (std::size_t i = 0; i < trained_.size(); ++i)
        if (is_taken(i)) taken.push_back(tensors_[trained_[i]]);
    const auto is_frozen = [](const at::Tensor& parameter) { return !parameter.requires_grad(); };
    if (std::any_of(taken.begin(), taken.end(), is_frozen))
        return "parameters were frozen between forward and backward";
    if (std::any_of(taken.begin(), taken.end(), seems_hooked) && has_hooks())
        return "parameters were given hooks between forward and backward";
    if (get_gradients_from_outside(taken))
        return "parameters get gradients from outside of the module (a penalty in the loss, say)";
    return "";
}

bool PlannedStep::are_as_handed_out(const std::vector<std::optional<at::Tensor>>& gradients) const {
    if (gradients.size() != handed_out_.size()) return false;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const HandedOut& handed = handed_out_[i];
        if (!handed.is_there || !gradients[i]) continue;
        const at::Tensor& gradient = *gradients[i];
        if (!gradient.defined() ||
            (handed.memory && gradient.storage().unsafeGetStorageImpl() != handed.memory) ||
            static_cast<std::uint32_t>(gradient._version()) != handed.version)
            return false;
    }
    return true;
}

void PlannedStep::give_open_forwards_up() {
    for (const auto& open : open_nodes_)
        if (const NodePointer node = open.lock()) static_cast<PartNode&>(*node).pass_on();
    open_nodes_.clear();
}

/// Hides a half of the step (its forward or its backward) from the eviction that is in force, until the
/// returned object is destroyed. The eviction keeps `read`, the tensors that the step reads, and is told that
/// the step changes the buffers.
NotEvicted PlannedStep::not_evicted(const std::vector<at::Tensor>& read) const {
    if (RoomMaker* eviction = eviction_on(*device_)) {
        eviction->keep(read);
        eviction->keep(executor_.states());
        eviction->changes(buffers_);
        if (in_backward_ && takes_gradients_) {  // this backward updates parameters, or adds to sums
            eviction->changes(tensors_);
            eviction->changes(executor_.states());
        }
    }
    return {*device_, {}, "a planned step"};
}

bool PlannedStep::is_guarded() const {
    return std::any_of(tape().ops.begin(), tape().ops.end(),
                       [](const TapeOp& op) { return op.guard.has_value() || !op.result_sizes.empty(); });
}

/// Throws the exception of a signal's handler, if there is one. A backward that may have changed parameters,
/// or sums of gradients, is not stopped.
void PlannedStep::stop_if_interrupted() {
    if (!(in_backward_ && takes_gradients_)) raise_what_signals_raise();
}

Result<PlannedForward> PlannedStep::forward(const std::vector<at::Tensor>& tensors,
                                            const std::vector<at::Tensor>& inputs, bool arena, bool measured,
                                            OriginalForward original) {
    if (Result<void> bound = executor_.rebind(tensors); !bound) return bound.error();
    may_share_casts_ = at::autocast::is_autocast_enabled(device_->device().type()) &&
                       at::autocast::is_autocast_cache_enabled();
    tensors_ = tensors;
    buffers_.clear();
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!tape().bindings[i].is_parameter) buffers_.push_back(tensors[i]);
    if (room_) {
        const Bytes residents = residents_on_device(*graph_, schedule_.homes);
        if (Result<void> fits = check_room(*room_, residents, *device_); !fits) return fits.error();
        room_.reset();
    }
    Result<Forwarded> step = [&] {
        std::vector<at::Tensor> read = inputs;  // the step also reads `tensors`, which are added below
        read.insert(read.end(), tensors.begin(), tensors.end());
        const NotEvicted unseen = not_evicted(read);
        const ReplayOptions options{
            .measure_peak = measured || device_->measures_unseen(),
            .before_op = [this] { stop_if_interrupted(); },
            .arena = arena,
            .most_arena_bytes = (schedule_.budget - residents_on_device(*graph_, schedule_.homes)).value};
        return executor_.forward(schedule_.steps, inputs, options, schedule_.homes);
    }();
    if (!step) return step.error();
    measured_ = measured || device_->measures_unseen();
    last_peak = measured_ ? std::optional(step->peak) : std::nullopt;
    PlannedForward result{.outputs = std::move(step->outputs), .frame = ++last_frame};
    const auto frame =
        std::make_shared<Frame>(shared_from_this(), step->number, inputs, std::move(original), result.frame);
    NodePointer next;
    for (std::size_t part = parts_.size(); part-- > 0;) {
        NodePointer node = make_node<PartNode>(frame, part);
        for (int place : parts_[part]) {
            const at::Tensor& of =
                trained_[place] >= 0 ? tensors[trained_[place]] : inputs[tape().gradients[place].input];
            const Edge to = of.requires_grad() ? torch::autograd::impl::gradient_edge(of) : Edge();
            for (std::size_t term = 0; term < terms_[place]; ++term) node->add_next_edge(to);
        }
        if (next) {
            node->add_next_edge(Edge(next, 0));
            next->add_input_metadata(frame->link());
        }
        next = std::move(node);
    }
    for (int place : with_history_) torch::autograd::create_gradient_edge(result.outputs[place], next);
    frame->shared_outputs = WrittenInPlace(result.outputs);
    std::erase_if(open_nodes_, [](const auto& node) { return node.expired(); });
    open_nodes_.emplace_back(next);
    return result;
}

}  // namespace rematlas
