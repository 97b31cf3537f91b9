#include "runtime/training/trial_run.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "core/base/files.h"
#include "runtime/device/collective_call.h"
#include "runtime/dispatch/collectives.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/strided_copy.h"
#include "runtime/training/outside_gradients.h"
#include "runtime/training/process_groups.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {

using torch::autograd::variable_list;

namespace {

constexpr const char* comparison = "a comparison";

/// Returns a digest of type, shape and bytes.
std::string digest_of(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    at::NoGradGuard no_grad;
    const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
    return c10::str(tensor.scalar_type(), tensor.sizes()) +
           sha256(std::string_view(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()));
}

}  // namespace

TrialRun::TrialRun(std::shared_ptr<PlannedStep> step, std::vector<at::Tensor> tensors,
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

std::vector<at::Tensor> TrialRun::begin() {
    others_ = OtherThreads::watch(step_->device());
    if (!others_) {
        verdict_ = Verdict::dropped;
        return inputs_;
    }
    if (Result<void> bound = step_->executor().rebind(tensors_); !bound)
        verdict_ = Verdict::other_course, why_ = bound.error().message;
    const NotEvicted unseen(step_->device(), tensors_, comparison);
    before_ = step_->executor().snapshot();
    alive_before_ = memory_without_eviction(step_->device()).alive_bytes();
    return cut_.begin(inputs_);
}

void TrialRun::end(const std::vector<at::Tensor>& outputs) {
    if (!others_) return;
    held_ = memory_without_eviction(step_->device()).alive_bytes() - alive_before_;
    {
        const NotEvicted unseen(step_->device(), outputs, comparison);
        for (const at::Tensor& output : outputs) outputs_.push_back(digest_of(output));
        after_forward_ = step_->executor().snapshot();
    }
    cut_places_ = cut_.end(outputs, tensors_);
    if (cut_.shares_casts()) {
        verdict_ = Verdict::other_course, why_ = casts_are_shared;
        others_ = nullptr;
        return;
    }
    cut_.connect(
        outputs, trained_, "RematlasComparedBackward",
        [self = shared_from_this()](variable_list&& gradients) { return self->backward(gradients); });
    if (others_) others_->rest();
}

/// Stops watching other threads. Must be called after the backward, when the verdict is known.
void TrialRun::watch_no_more() {
    if (others_) other_thread_ = others_->op();
    others_ = nullptr;
    if (verdict_ == Verdict::different && !other_thread_.empty()) verdict_ = Verdict::disturbed;
}

CutForward::Gradients TrialRun::backward(const variable_list& gradients) {
    const bool keep_graph = torch::autograd::get_current_graph_task_keep_graph();
    const bool create_graph = at::GradMode::is_enabled(), around = cut_.is_reached_around();
    const bool keep = keep_graph || around || create_graph;
    const struct WatchNoMore {
        TrialRun& trial;
        ~WatchNoMore() { trial.watch_no_more(); }
    } when_it_ends{*this};
    if (others_ && !others_->go_on()) others_ = nullptr;
    if (!others_ && verdict_ == Verdict::open) verdict_ = Verdict::dropped;
    if (keep && verdict_ == Verdict::open)
        verdict_ = Verdict::other_course, why_ = "the backward is of another kind";
    if (const char* why = cut_.why_sums_differ(); why && verdict_ == Verdict::open)
        verdict_ = Verdict::other_course, why_ = why;
    std::unique_ptr<Snapshot> begun;
    {
        const NotEvicted unseen(step_->device(), tensors_, comparison);
        begun = step_->executor().snapshot();
    }
    // Under eviction the replay runs first: the tensors that the original's forward keeps are evicted to
    // make room, and the gradients of the original do not exist yet.
    const bool first = !is_true_everywhere(eviction_on(step_->device()) == nullptr);
    std::optional<Replay> replayed;
    if (first) replayed = replay_with_others(gradients, *begun);
    if (replayed) replayed->digest();
    CutForward::Gradients made = cut_.backward(gradients, trained_, keep, create_graph);
    if (keep)
        torch::autograd::Engine::get_default_engine().queue_callback(
            [self = shared_from_this()] { self->uncut("the backward may run twice"); });
    if (!first) replayed = replay_with_others(gradients, *begun);
    if (replayed) conclude(*replayed, made, *begun);
    return made;
}

/// Says whether `here` is true on all processes with which the step exchanges data.
bool TrialRun::is_true_everywhere(bool here) const {
    for (const std::string& group : process_groups_of(step_->tape()))
        here = is_true_on_all(here, group, step_->device().device());
    return here;
}

/// Replays the step if the comparison is still wanted. The replay runs the step's collectives, so it runs on
/// all processes or on none.
std::optional<TrialRun::Replay> TrialRun::replay_with_others(const variable_list& gradients,
                                                             const Snapshot& begun) {
    std::optional<Replay> made;
    is_agreed_ = false;
    if (verdict_ == Verdict::open) made = replay(gradients, begun);
    if (!is_agreed_) is_true_everywhere(false);
    return made;
}

void TrialRun::uncut(const std::string& why) {
    if (verdict_ == Verdict::open) verdict_ = Verdict::other_course, why_ = why;
    others_ = nullptr;
    cut_.uncut();
}

/// Returns the bytes that the replay needs. Residents are not counted, because they are alive already. Three
/// snapshots of the buffers are counted, because they are alive beside the plan's tensors. `make_room` adds a
/// margin for one block that is larger than requested. The replay asks for its memory in pieces, so this
/// margin is subtracted here.
std::int64_t TrialRun::bytes_of_replay() const {
    std::int64_t bytes = step_->schedule().peak.value - flatten(step_->graph()).resident_bytes;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
        if (!step_->tape().bindings[i].is_parameter)
            bytes += 3 * step_->device().footprint(static_cast<std::int64_t>(tensors_[i].nbytes()));
    return std::max<std::int64_t>(
        0, bytes + step_->device().footprint(bytes) - step_->device().most_footprint(bytes));
}

/// Copies the gradient, because the gradient itself may be evicted.
at::Tensor TrialRun::apart(const at::Tensor& gradient) const {
    const NotEvicted read(step_->device(), {gradient}, comparison);
    return copy_as_it_lies(gradient.detach());
}

/// Restores a state. The generator is restored only if an op of the plan draws from it, because other threads
/// may draw too.
void TrialRun::put_back(const Snapshot& state) const {
    step_->executor().draws() ? state.restore() : state.restore_tensors();
}

/// Says whether the replay moves the generator differently from the original. `begun` and `reached` are
/// states of the original before and after the part of the step that is compared.
bool TrialRun::moves_generator_otherwise(const Snapshot& replayed, const Snapshot& begun,
                                         const Snapshot& reached) const {
    if (step_->executor().draws()) return !replayed.equals_generator(reached);
    return !begun.equals_generator(reached) && !others_->drew();
}

std::string TrialRun::difference_of_forward(const Forwarded& forward, const Snapshot& replayed) const {
    if (moves_generator_otherwise(replayed, *before_, *after_forward_))
        return "another state of the random number generator";
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        if (digest_of(forward.outputs[i]) != outputs_[i]) return "another output " + std::to_string(i);
    const std::string buffer = replayed.different_tensor(*after_forward_);
    return buffer.empty() ? "" : "another " + buffer + " after the forward";
}

/// Returns the gradients in the order of the plan's differentiable outputs; nullopt if the loss uses other
/// outputs than the recorded loss used.
std::optional<variable_list> TrialRun::gradients_by_output(const variable_list& gradients) const {
    const std::vector<int> differentiable = step_->executor().differentiable_outputs();
    variable_list given(differentiable.size());
    for (std::size_t i = 0; i < cut_places_.size(); ++i) {
        const auto found = std::find(differentiable.begin(), differentiable.end(), cut_places_[i]);
        const bool asked = found != differentiable.end();
        if (asked != gradients[i].defined()) return std::nullopt;
        if (asked) given[static_cast<std::size_t>(found - differentiable.begin())] = gradients[i];
    }
    return given;
}

/// Replays the step from the state in which the step began, then restores the present state. Returns nothing,
/// and sets the verdict, if the step cannot be replayed.
std::optional<TrialRun::Replay> TrialRun::replay(const variable_list& gradients, const Snapshot& begun) {
    Executor& executor = step_->executor();
    const auto ends = [&](Verdict verdict, std::string why) {
        verdict_ = verdict;
        why_ = std::move(why);
        return std::nullopt;
    };
    RoomMaker* eviction = eviction_on(step_->device());
    const auto failed = [&](const Error& error) {
        const bool short_of_memory = eviction && error.kind == ErrorKind::failure;
        return ends(error.kind == ErrorKind::negative ? Verdict::other_course
                    : short_of_memory                 ? Verdict::no_room
                                                      : Verdict::different,
                    error.message);
    };
    std::optional<variable_list> by_output = gradients_by_output(gradients);
    if (!by_output) return ends(Verdict::other_course, "the loss uses other outputs");
    variable_list given = *std::move(by_output);
    if (Result<void> fits = executor.check_gradients(given); !fits)
        return ends(Verdict::other_course, fits.error().message);
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> read = inputs_;
    // The bound tensors are listed too: a tensor that a forward has left in the module is not a resident, so
    // it may be evicted.
    read.insert(read.end(), tensors_.begin(), tensors_.end());
    const NotEvicted unseen(step_->device(), read, comparison);
    const MemoryLimit::Attempt attempt;
    if (eviction) {
        try {
            if (auto missing = eviction->make_room(bytes_of_replay()))
                return ends(Verdict::no_room, *std::move(missing));
            step_->device().trim();  // else the allocator may give the plan larger blocks than requested
            for (at::Tensor& gradient : given) gradient = apart(gradient);
        } catch (const c10::OutOfMemoryError& error) {
            return ends(Verdict::no_room, error.what_without_backtrace());
        }
    }
    // Another forward may have given the module other tensors in the meantime.
    if (Result<void> bound = executor.rebind(tensors_); !bound)
        return ends(Verdict::other_course, bound.error().message);
    is_agreed_ = true;
    if (!is_true_everywhere(true))
        return ends(Verdict::other_course, "another rank cannot compare this step");
    const std::unique_ptr<Snapshot> now = executor.snapshot();
    put_back(*before_);
    Replay replay;
    const struct PutBack {
        const TrialRun& trial;
        const Snapshot& state;
        ~PutBack() { trial.put_back(state); }
    } when_it_ends{*this, *now};
    Result<Forwarded> forward =
        executor.forward(step_->schedule().steps, inputs_, {}, step_->schedule().homes);
    if (!forward) return failed(forward.error());
    const std::unique_ptr<Snapshot> replayed_forward = executor.snapshot();
    replay.differs = difference_of_forward(*forward, *replayed_forward);
    const auto number = forward->number;
    forward->outputs.clear();  // the executor still holds the outputs that the backward reads
    if (executor.moves_buffers_late() && !begun.different_tensor(*after_forward_).empty())
        return ends(Verdict::other_course, "another forward changes the buffers before the backward");
    // After the forward, the caller's loss may have drawn random numbers, and another forward may have
    // updated the buffers.
    put_back(begun);
    Result<Replayed> done = executor.backward(number, std::move(given));
    if (!done) return failed(done.error());
    peak_ = done->peak;
    replay.gradients = std::move(done->gradients);
    replay.after = executor.snapshot();
    return replay;
}

void TrialRun::Replay::digest() {
    for (at::Tensor& gradient : gradients) {
        digests.push_back(digest_of(gradient));
        gradient = at::Tensor();
    }
}

bool TrialRun::Replay::made(std::size_t place, const at::Tensor& gradient) const {
    return digests.empty() ? identical(gradients[place], gradient) : digests[place] == digest_of(gradient);
}

/// Compares the replay with the original when both are done. The present state is the original's: either the
/// original ran last, or its state was restored.
void TrialRun::conclude(const Replay& replayed, const CutForward::Gradients& made, const Snapshot& begun) {
    variable_list reads = made.parameters;
    reads.insert(reads.end(), made.inputs.begin(), made.inputs.end());
    const NotEvicted unseen(step_->device(), reads, comparison);
    const Tape& tape = step_->tape();
    std::string why = replayed.differs;
    for (std::size_t i = 0; i < trained_.size() && why.empty(); ++i)
        if (const int place = gradient_places_[i]; !replayed.made(place, made.parameters[i]))
            why = "another gradient of " + tape.gradients[place].parameter;
    for (std::size_t i = 0; i < tape.gradients.size() && why.empty(); ++i) {
        const int input = tape.gradients[i].input;
        if (input >= 0 && !replayed.made(i, made.inputs[input]))
            why = "another gradient of input " + std::to_string(input);
    }
    const std::unique_ptr<Snapshot> now = step_->executor().snapshot();
    if (const std::string buffer = replayed.after->different_tensor(*now); why.empty() && !buffer.empty())
        why = "another " + buffer;
    if (why.empty() && moves_generator_otherwise(*replayed.after, begun, *now))
        why = "another state of the random number generator";
    verdict_ = why.empty() ? Verdict::same : Verdict::different;
    why_ = why.empty() ? "" : "its replay gives " + why;
}

}  // namespace rematlas
