#include "runtime/training/planned_step.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <unordered_map>

#include "core/schedule/homes.h"
#include "core/solving/copies.h"
#include "runtime/training/cut_forward.h"
#include "runtime/training/outside_gradients.h"
#include "runtime/training/python_error.h"
#include "runtime/training/shared_outputs.h"

namespace rematlas {

using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

namespace {

std::atomic<std::int64_t> last_frame{0};

template <class Exception>
[[noreturn]] void throw_one(const Error& error) {
    throw Exception({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, "rematlas: " + error.message);
}

/// Whether somebody is told of the parameter's gradient, or has been.
bool seems_hooked(const at::Tensor& parameter) {
    namespace impl = torch::autograd::impl;
    if (!impl::hooks(parameter).empty() || impl::post_acc_grad_hooks(parameter)) return true;
    const std::shared_ptr<Node> accumulates = impl::try_get_grad_accumulator(parameter);
    return accumulates && !(accumulates->pre_hooks().empty() && accumulates->post_hooks().empty());
}

}  // namespace

void throw_as_torch_does(const Error& error) {
    try {
        if (error.thrown) std::rethrow_exception(error.thrown);
    } catch (const c10::IndexError&) {
        throw_one<c10::IndexError>(error);
    } catch (const c10::ValueError&) {
        throw_one<c10::ValueError>(error);
    } catch (const c10::TypeError&) {
        throw_one<c10::TypeError>(error);
    } catch (const c10::NotImplementedError&) {
        throw_one<c10::NotImplementedError>(error);
    } catch (const c10::LinAlgError&) {
        throw_one<c10::LinAlgError>(error);
    } catch (const c10::OutOfMemoryError&) {
        throw_one<c10::OutOfMemoryError>(error);
    } catch (...) {  // of no class that Python tells apart
    }
    throw_one<c10::Error>(error);
}

/// While a part of a backward runs.
class PlannedStep::InBackward {
  public:
    explicit InBackward(PlannedStep& step) : step_(step) { step_.in_backward_ = true; }
    InBackward(const InBackward&) = delete;
    InBackward& operator=(const InBackward&) = delete;
    ~InBackward() { step_.in_backward_ = false; }

  private:
    PlannedStep& step_;
};

/// One forward that is open.
class PlannedStep::Frame {
  public:
    Frame(std::shared_ptr<PlannedStep> step, std::uint64_t number, std::vector<at::Tensor> inputs,
          OriginalForward original, std::int64_t id)
        : step_(std::move(step)),
          inputs_(std::move(inputs)),
          original_(std::move(original)),
          number_(number),
          id_(id) {}
    WrittenInPlace shared_outputs;
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() {
        step_->executor_.drop(number_);
        if (original_.forget) original_.forget(id_);
    }

    /// The gradients of a part, in the order of its places.
    variable_list backward(std::size_t part, variable_list&& gradients) {
        if (part == 0) gradients = begin(std::move(gradients));
        if (by_original_.empty()) {
            Result<BackwardPartDone> done = [&] {
                const NotEvicted unseen = step_->not_evicted(gradients);
                const InBackward now(*step_);
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
        for (int place : step_->parts_[part]) result.push_back(by_original_[place]);
        if (part + 1 == step_->parts_.size()) by_original_.clear();
        return result;
    }

    at::Tensor link() const { return autograd_link(step_->device_->device()); }

    /// The original's forward, run now from where this forward started. Returns the edges of its outputs, in
    /// the order of PlannedStep::with_history_.
    torch::autograd::edge_list original_edges() {
        begun_ = true;
        std::vector<at::Tensor> outputs = forward_of_original("several forwards are open", nullptr);
        torch::autograd::edge_list edges;
        for (int place : step_->with_history_)
            edges.push_back(outputs[place].requires_grad()
                                ? torch::autograd::impl::gradient_edge(outputs[place])
                                : Edge());
        return edges;
    }

    /// Of the original's own graph, where its backward may run again, in the order of
    /// PlannedStep::with_history_.
    torch::autograd::edge_list kept_edges() const {
        torch::autograd::edge_list edges;
        if (!kept_) return edges;
        for (int place : step_->with_history_) {
            const auto found = std::find(kept_places_.begin(), kept_places_.end(), place);
            edges.push_back(
                found == kept_places_.end()
                    ? Edge()
                    : kept_->output_edges()[static_cast<std::size_t>(found - kept_places_.begin())]);
        }
        return edges;
    }

  private:
    /// The gradients that the plan takes, in its order; none when the original has to run.
    variable_list begin(variable_list&& gradients) {
        const bool keep_graph = torch::autograd::get_current_graph_task_keep_graph();
        const bool create_graph = at::GradMode::is_enabled();
        std::string why;
        TORCH_CHECK(!begun_,
                    "rematlas: this backward has run before, and its tensors are freed (specify "
                    "retain_graph=True the first time)");
        TORCH_CHECK(!shared_outputs.happened(),
                    "rematlas: outputs that share memory were written to between forward and backward, which "
                    "they were not when the step was recorded: their gradients would be others than the "
                    "original's; train without a plan (rematlas.remove), or write to copies");
        step_->check_sums();
        begun_ = true;
        variable_list planned(step_->differentiable_.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            const auto found = std::find(step_->differentiable_.begin(), step_->differentiable_.end(),
                                         step_->with_history_[i]);
            if (found != step_->differentiable_.end())
                planned[static_cast<std::size_t>(found - step_->differentiable_.begin())] = gradients[i];
            else if (gradients[i].defined())
                why = "the loss uses an output that the recorded one did not";
        }
        if (create_graph) why = "a second derivative is asked for (create_graph=True)";
        if (keep_graph && why.empty()) why = "the backward may run twice (retain_graph=True)";
        if (why.empty())
            why = step_->why_gradients_are_wanted(
                [&] { return !original_.has_hooks || original_.has_hooks(id_); });
        if (Result<void> fits = step_->executor_.check_gradients(planned); why.empty() && !fits) {
            const bool complete = std::all_of(planned.begin(), planned.end(),
                                              [](const at::Tensor& gradient) { return gradient.defined(); });
            // Without the original at hand, what lies otherwise is copied.
            if (original_.run || !complete) why = fits.error().message;
        }
        if (!why.empty() || step_->is_guarded()) given_ = gradients;
        gradients.clear();
        if (!why.empty()) run_original(why, keep_graph, create_graph);
        return planned;
    }

    variable_list take(std::size_t part, BackwardPartDone& done) {
        std::unordered_map<int, at::Tensor> by_place;
        for (auto& [place, gradient] : done.gradients) by_place[place] = std::move(gradient);
        variable_list result;
        step_->handed_out_.resize(step_->trained_.size());
        for (int place : step_->parts_[part]) {
            const at::Tensor& gradient = by_place[place];
            if (gradient.defined()) note_handed_out(place, gradient);
            result.push_back(std::move(by_place[place]));
        }
        if (done.last && step_->takes_gradients_) tell_of_taken();
        if (step_->measured_) step_->last_peak = done.peak;
        if (done.last) step_->memory = done.memory;
        return result;
    }

    /// What accumulates gradients copies those that lie otherwise than their parameter: into memory with its strides, or by a clone.
    void note_handed_out(int place, const at::Tensor& gradient) {
        const int binding = step_->trained_[place];
        const at::Tensor parameter = binding >= 0 ? step_->tensors_[binding] : at::Tensor();
        PlannedStep::HandedOut& handed = step_->handed_out_[place];
        handed = {true, gradient.storage().unsafeGetStorageImpl(),
                  static_cast<std::uint32_t>(gradient._version())};
        if (parameter.defined() && !torch::autograd::utils::obeys_layout_contract(gradient, parameter))
            handed = {true, nullptr, parameter.is_non_overlapping_and_dense() ? 1u : 0u};
    }

    /// What has a parameter saved notices that it is another one. Signals that came meanwhile are told when the backward is over.
    void tell_of_taken() {
        for (const int binding : step_->updated_)
            step_->tensors_[binding].unsafeGetTensorImpl()->bump_version();
        look_for_signals();
        if (original_.taken) original_.taken(id_);
        // The frame may be gone by then; its number is not given again.
        torch::autograd::Engine::get_default_engine().queue_callback([over = original_.over, id = id_] {
            if (over) over(id);
        });
    }

    std::vector<at::Tensor> forward_of_original(const std::string& why, CutForward* cut) {
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
            for (std::size_t i = 0; i < given_.size(); ++i)
                used[step_->with_history_[i]] = given_[i].defined();
            outputs = original_.run(id_, cut ? cut->begin(inputs_) : inputs_, used);
        } catch (...) {
            executor.restore(number_);
            throw;
        }
        executor.restore(number_);
        return outputs;
    }

    /// All gradients from the original, which starts where this forward started.
    void run_original(const std::string& why, bool keep_graph, bool create_graph) {
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
        // One that was frozen since the forward has no gradient.
        const auto is_trained = [&](int binding) {
            return binding >= 0 && step_->tensors_[binding].requires_grad();
        };
        std::vector<at::Tensor> parameters;
        for (int binding : step_->trained_)
            if (is_trained(binding)) parameters.push_back(step_->tensors_[binding]);
        CutForward::Gradients made = kept_->backward(seeds, parameters, keep, create_graph);
        if (!keep) kept_ = nullptr;
        std::size_t next = 0;
        by_original_.resize(step_->trained_.size());
        for (std::size_t i = 0; i < step_->trained_.size(); ++i) {
            const int input = step_->tape().gradients[i].input;
            if (input >= 0)
                by_original_[i] = made.inputs[input];
            else if (is_trained(step_->trained_[i]))
                by_original_[i] = made.parameters[next++];
            if (step_->tape().gradients[i].operand == no_operand && !step_->is_taken(i)) accumulate(i);
        }
    }

    /// A gradient that the plan neither makes nor takes has no edge of the chain.
    void accumulate(std::size_t place) {
        const at::Tensor& gradient = by_original_[place];
        if (!gradient.defined() || step_->trained_[place] < 0) return;
        at::NoGradGuard no_grad;
        at::Tensor parameter = step_->tensors_[step_->trained_[place]];
        at::Tensor& sum = parameter.mutable_grad();
        sum = sum.defined() ? sum.add(gradient) : gradient.clone();
    }

    std::shared_ptr<PlannedStep> step_;
    std::vector<at::Tensor> inputs_;
    OriginalForward original_;
    std::uint64_t number_;
    std::int64_t id_;
    bool begun_ = false;
    variable_list given_;               ///< gradients of the outputs, while the original may need them
    variable_list by_original_;         ///< per gradient, once the original had to run
    std::unique_ptr<CutForward> kept_;  ///< the original's own graph, while its backward may run again
    std::vector<int> kept_places_;
};

/// A part of the backward. The nodes of one forward form a chain.
class PlannedStep::PartNode final : public Node {
  public:
    PartNode(std::shared_ptr<Frame> frame, std::size_t part) : frame_(std::move(frame)), part_(part) {}
    std::string name() const override { return "RematlasBackward" + std::to_string(part_); }
    void release_variables() override {
        if (ran_) frame_ = nullptr;
    }
    variable_list apply(variable_list&& gradients) override {
        if (passes_on_) return std::move(gradients);
        TORCH_CHECK(frame_,
                    "rematlas: this backward has run before, and its tensors are freed (specify "
                    "retain_graph=True the first time)");
        variable_list result = frame_->backward(part_, std::move(gradients));
        // A further backward is the caller's graph's own; the edges may change when this one is over.
        if (part_ == 0 && !frame_->kept_edges().empty())
            torch::autograd::Engine::get_default_engine().queue_callback(
                [self = std::static_pointer_cast<PartNode>(shared_from_this()), to = frame_->kept_edges()] {
                    self->pass_on(to);
                });
        if (result.size() < num_outputs()) result.push_back(frame_->link());
        ran_ = true;
        return result;
    }

    /// Lets gradients go to the original's own graph, whose forward runs now. For a backward that has not
    /// begun.
    void pass_on() {
        if (ran_ || passes_on_ || !frame_) return;
        pass_on(frame_->original_edges());
    }

    /// The same, to a graph that is there already.
    void pass_on(const torch::autograd::edge_list& to) {
        next_edges_ = to;  // the order of the graph stays: what lies beyond is reached from here alone
        passes_on_ = true;
        frame_ = nullptr;
    }

  private:
    std::shared_ptr<Frame> frame_;
    std::size_t part_;
    bool ran_ = false, passes_on_ = false;
};

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
    // No gradients go there, but those of the original where it has to run.
    for (std::size_t i = 0; i < bound.gradients.size(); ++i)
        if (step->is_taken(i)) step->parts_.back().push_back(static_cast<int>(i));
    return step;
}

/// Whether a gradient is used up within the step.
bool PlannedStep::is_taken(std::size_t place) const {
    return takes_gradients_ && trained_[place] >= 0 && tape().gradients[place].operand == no_operand;
}

/// In a backward that has begun.
void PlannedStep::check_sums() const {
    if (!sums_gradients && !may_share_casts_) return;
    std::vector<at::Tensor> trained;
    for (const int binding : trained_)
        if (binding >= 0) trained.push_back(tensors_[binding]);
    TORCH_CHECK(!sums_gradients || !get_gradients_before_this_sum(trained), "rematlas: ", summed_otherwise,
                "; train without a plan (rematlas.remove)");
    TORCH_CHECK(!may_share_casts_ || !get_gradients_by_casts_from_outside(trained),
                "rematlas: ", casts_are_shared, "; or train without a plan (rematlas.remove)");
}

/// In a backward that has begun: why gradients that the step takes itself have to be handed out. `has_hooks`: asked where some seem
/// to be there.
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
        if (const std::shared_ptr<Node> node = open.lock()) static_cast<PartNode&>(*node).pass_on();
    open_nodes_.clear();
}

/// For a half of the step, which reads these tensors until the step is over, and buffers.
NotEvicted PlannedStep::not_evicted(const std::vector<at::Tensor>& read) const {
    if (RoomMaker* eviction = eviction_on(*device_)) {
        eviction->keep(read);
        eviction->changes(buffers_);
    }
    return {*device_, {}};
}

bool PlannedStep::is_guarded() const {
    return std::any_of(tape().ops.begin(), tape().ops.end(),
                       [](const TapeOp& op) { return op.guard.has_value() || !op.result_sizes.empty(); });
}

/// A backward that has begun to change parameters, or sums of gradients, goes on to its end.
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
        const NotEvicted unseen = not_evicted(inputs);
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
    std::shared_ptr<Node> next;
    for (std::size_t part = parts_.size(); part-- > 0;) {
        const std::shared_ptr<Node> node(new PartNode(frame, part), torch::autograd::deleteNode);
        for (int place : parts_[part]) {
            const at::Tensor& of =
                trained_[place] >= 0 ? tensors[trained_[place]] : inputs[tape().gradients[place].input];
            node->add_next_edge(of.requires_grad() ? torch::autograd::impl::gradient_edge(of) : Edge());
        }
        if (next) {
            node->add_next_edge(Edge(next, 0));
            next->add_input_metadata(frame->link());
        }
        next = node;
    }
    for (int place : with_history_) torch::autograd::create_gradient_edge(result.outputs[place], next);
    frame->shared_outputs = WrittenInPlace(result.outputs);
    std::erase_if(open_nodes_, [](const auto& node) { return node.expired(); });
    open_nodes_.push_back(next);
    return result;
}

}  // namespace rematlas
