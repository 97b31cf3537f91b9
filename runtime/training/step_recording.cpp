#include "runtime/training/step_recording.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "runtime/capture/input_parts.h"
#include "runtime/shapes/shape_tensor.h"
#include "runtime/training/outside_gradients.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {

using torch::autograd::variable_list;

std::vector<NamedTensor> trained_of(const std::vector<NamedTensor>& tensors) {
    std::vector<NamedTensor> result;
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const NamedTensor& named : tensors)
        if (named.is_parameter && named.tensor.requires_grad() &&
            seen.insert(named.tensor.unsafeGetTensorImpl()).second)
            result.push_back(named);
    return result;
}

std::int64_t counted_residents(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                               const DeviceRuntime& device) {
    std::unordered_set<const c10::StorageImpl*> seen;
    std::int64_t bytes = 0;
    const auto add = [&](const at::Tensor& tensor, std::int64_t size) {
        if (tensor.device() == device.device() && device.counts(tensor.storage().data_ptr()))
            bytes += device.footprint(size);
    };
    for (const NamedTensor& named : tensors)
        if (named.tensor.has_storage() && seen.insert(named.tensor.storage().unsafeGetStorageImpl()).second)
            add(named.tensor, static_cast<std::int64_t>(named.tensor.storage().nbytes()));
    std::vector<at::Tensor> stored;
    std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(stored),
                 [](const at::Tensor& input) { return input.has_storage(); });
    const auto parts = parts_of(stored);
    for (const at::Tensor& input : stored)
        if (const auto* storage = input.storage().unsafeGetStorageImpl(); seen.insert(storage).second)
            add(input, parts.at(storage).bytes());
    return bytes;
}

namespace {

std::vector<InputSpec> specs_of(const std::vector<at::Tensor>& inputs) {
    std::vector<InputSpec> specs;
    for (const at::Tensor& input : inputs)
        specs.push_back({.dtype = input.scalar_type(), .sizes = input.sizes().vec(), .bound = {}});
    return specs;
}

RecorderOptions options_for(StepRecording::Kind kind, ShapeKernels* shapes, MemoryMeter* memory,
                            std::shared_ptr<OtherThreads> others) {
    RecorderOptions options{
        .audit = kind == StepRecording::Kind::real_with_audit, .in_process = true, .memory = memory};
    if (others)
        options.others_run = [others = std::weak_ptr(others)] {
            const std::shared_ptr<OtherThreads> still = others.lock();
            return still && !still->op().empty();
        };
    if (shapes)
        options.run_kernel = [shapes](const auto& op, auto keys, auto* stack) {
            return shapes->run(op, keys, stack);
        };
    return options;
}

/// Returns a gradient with the shape of the output. It has the layout of the output if that is dense, else it
/// is contiguous.
at::Tensor gradient_shape(const at::Tensor& output) {
    return output.is_non_overlapping_and_dense()
               ? shape_tensor(output.sizes(), output.strides(), output.scalar_type(), output.device())
               : shape_tensor(output.sizes(), output.scalar_type(), output.device());
}

}  // namespace

StepRecording::StepRecording(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                             DeviceRuntime& device, Kind kind)
    : device_(device),
      others_(OtherThreads::watch(device)),
      memory_(device),
      tensors_(tensors),
      inputs_(inputs),
      shapes_(kind == Kind::from_shapes ? std::optional<ShapeKernels>(std::in_place, device.device(),
                                                                      device.profile_if_absent() != nullptr)
                                        : std::nullopt),
      recorder_(tensors, inputs, specs_of(inputs), places, device,
                options_for(kind, shapes_ ? &*shapes_ : nullptr, &memory_, others_)),
      trained_(trained_of(tensors)) {
    if (!shapes_) {
        device.prepare();
        settings_ = device.settings();
        counted_ = counted_residents(tensors, inputs, device);
        beside_ = memory_.alive_bytes() - counted_;
    } else if (RoomMaker* eviction = eviction_on(device)) {
        eviction->keep(inputs);  // planning reads them to compute tensors that depend only on inputs
    }
    for (const at::Tensor& input : inputs_)
        input_versions_.push_back(input.is_inference() ? 0 : static_cast<std::uint32_t>(input._version()));
}

std::vector<bool> StepRecording::used_outputs() const {
    std::vector<bool> used(recording_.outputs.size());
    for (const int place : cut_places_) used[static_cast<std::size_t>(place)] = true;
    for (const int place : unused_outputs_) used[static_cast<std::size_t>(place)] = false;
    return used;
}

std::vector<at::Tensor> StepRecording::trained() const {
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& named : trained_) tensors.push_back(named.tensor);
    return tensors;
}

std::unique_ptr<DispatchModeGuard> StepRecording::in_force() {
    if (!shapes_ && (!others_ || !others_->go_on())) return nullptr;
    return shapes_ ? DispatchModeGuard::unseen_by_outer(recorder_)
                   : DispatchModeGuard::unless_another(recorder_);
}

std::vector<at::Tensor> StepRecording::begin() {
    gradients_before_ = GradientMarks(trained());
    for (const at::Tensor& input : inputs_) inputs_needed_.push_back(input.requires_grad());
    guard_ = in_force();
    unrecorded_ = !guard_;
    given_ = guard_ ? cut_.begin(inputs_) : inputs_;
    return given_;
}

/// Stops watching other threads. If another thread has drawn random numbers, the step is disturbed if its
/// own ops draw as well, because their draws cannot be told from those of the other thread. If no other
/// thread has drawn, the step is disturbed if the generator moved for an unknown reason. Ops on shape
/// tensors draw nothing.
void StepRecording::watch_no_more() {
    if (others_ && !shapes_ && (others_->drew() ? recorder_.draws() : recorder_.generator_was_moved()))
        other_thread_ = others_->op();
    others_ = nullptr;
}

void StepRecording::abandon() {
    guard_.reset();
    others_ = nullptr;
    done_ = true;
    recorder_.refuse_step("the forward has failed");
}

void StepRecording::check_eviction() {
    if (!memory_.changed()) return;
    memory_.follow();
    eviction_changed_ = true;
    recorder_.refuse_step(
        "online eviction begins or ends within the step: let a context of rematlas.evict be around whole "
        "steps");
}

/// Refuses a step whose forward changes what autograd does with the caller's tensors.
void StepRecording::refuse_effects_of_forward() {
    if (gradients_before_.changed())
        recorder_.refuse_step(
            "the forward changes .grad of parameters: let it return the loss, and run the backward outside");
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (!inputs_needed_[i] && given_[i].requires_grad())
            recorder_.refuse_step("the forward lets input " + std::to_string(i) +
                                  " require a gradient: call requires_grad_() before the forward");
}

void StepRecording::end(const std::vector<at::Tensor>& outputs) {
    if (unrecorded_) return;
    guard_.reset();
    check_eviction();
    recorder_.check_generator();
    refuse_effects_of_forward();
    if (recorder_.refusal()) {
        done_ = true;
        watch_no_more();
        return;
    }
    std::vector<at::Tensor> residents;
    for (const NamedTensor& named : tensors_) residents.push_back(named.tensor);
    cut_places_ = cut_.end(outputs, residents);
    const bool are_parts = std::any_of(trained_.begin(), trained_.end(),
                                       [](const NamedTensor& named) { return !named.tensor.is_leaf(); });
    const bool fills_grad = are_parts && cut_.holds_reentrant_checkpoint();
    if (fills_grad || cut_.shares_casts()) {
        recorder_.refuse_step(fills_grad ? "a checkpoint with use_reentrant=True fills .grad of parameters "
                                           "that are DTensors: pass use_reentrant=False"
                                         : casts_are_shared);
        done_ = true;
        watch_no_more();
        return;
    }
    for (const at::Tensor& output : outputs) {
        const auto same = std::find_if(given_.begin(), given_.end(),
                                       [&](const at::Tensor& input) { return input.is_same(output); });
        passed_inputs_.push_back(same == given_.end() ? -1 : static_cast<int>(same - given_.begin()));
    }
    given_.clear();
    recorder_.note_outputs(outputs);
    if (shapes_)
        for (int place : cut_places_) gradient_shapes_.push_back(gradient_shape(outputs[place]));
    if (cut_places_.empty())
        recorder_.refuse_step("no output of the module requires a gradient: let a parameter require one");
    shared_outputs_ = WrittenInPlace(outputs);
    cut_.connect(outputs, trained(), "RematlasRecordedBackward",
                 [self = shared_from_this()](variable_list&& gradients) {
                     return self->record_backward(std::move(gradients),
                                                  torch::autograd::get_current_graph_task_keep_graph(),
                                                  at::GradMode::is_enabled());
                 });
    sums_gradients_ = cut_.sums_gradients(trained().size());
    recorder_.note_casts();
    alive_after_forward_ = memory_.alive_bytes();
    blocks_after_forward_ = device_.loose_blocks();
    memory_.reset_peak();
    if (others_) others_->rest();
}

void StepRecording::uncut(const std::string& why) {
    recorder_.refuse_step(why);
    cut_.uncut();
    done_ = true;
    others_ = nullptr;
}

StepRecording::State StepRecording::state() const {
    if (unrecorded_ || out_of_memory_) return State::dropped;
    if (!other_thread_.empty()) return State::disturbed;
    if (recorder_.refusal()) return State::refused;
    if (done_) return State::recorded;
    return cut_.is_dropped() ? State::dropped : State::open;
}

void StepRecording::run_backward(const std::vector<bool>& used) {
    const at::NoGradGuard no_grad;
    variable_list gradients = gradient_shapes_;
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (!used.empty() && !used[static_cast<std::size_t>(cut_places_[i])]) gradients[i] = at::Tensor();
    record_backward(std::move(gradients), false, false);
}

/// Measures the memory of the loss, and adds a margin: in later steps the allocator may give the same tensors
/// other blocks, each of which may be larger than requested.
void StepRecording::measure_loss() {
    const LooseBlocks before = blocks_after_forward_, now = device_.loose_blocks();
    // Casts that were freed since the forward are subtracted, because the loss may have taken their memory.
    const std::int64_t left = alive_after_forward_ - recorder_.casts_gone();
    loss_ = {.most = memory_.peak_bytes() - left, .kept = memory_.alive_bytes() - left};
    if (now.slack == 0) return;
    // A loose block is a block that may be larger than requested. Under eviction, tensors may have been
    // evicted since the forward, so the counts of loose blocks then and now cannot be subtracted. The loss
    // has at most as many loose blocks as were handed out since the forward, and at most as many as fit into
    // its bytes.
    const bool evicts = memory_.evicts();
    const std::int64_t handed_out = now.so_far - before.so_far;
    const std::int64_t most = evicts ? std::min(handed_out, loss_.most / now.slack) : now.most - before.alive;
    const std::int64_t kept =
        evicts ? std::min(handed_out, loss_.kept / now.slack) : now.alive - before.alive;
    loss_.most += std::max<std::int64_t>(0, most) * now.slack;
    loss_.kept += std::max<std::int64_t>(0, kept) * now.slack;
}

/// Runs a backward of outputs that got no gradient in the first backward of this step.
CutForward::Gradients StepRecording::backward_again(const variable_list& gradients, bool keep_graph,
                                                    bool create_graph) {
    recorder_.refuse_step(
        "one forward has several backwards: add the losses of its outputs up, and run one backward");
    const bool keep = keep_graph || create_graph || cut_.is_reached_around();
    return cut_.backward(gradients, trained(), keep, create_graph);
}

/// Refuses the step if random numbers are drawn while autograd hands out its gradients. Only hooks of
/// parameters draw them there, and a plan calls these hooks in another order.
void StepRecording::refuse_random_hooks() {
    if (shapes_) return;
    const std::uint64_t before = device_.generator_state()->digest();
    torch::autograd::Engine::get_default_engine().queue_callback([self = shared_from_this(), before] {
        if (self->device_.generator_state()->digest() != before)
            self->recorder_.refuse_step(
                "a hook draws random numbers in the backward, and a plan calls the hooks of parameters in "
                "another "
                "order: draw them after the backward");
    });
}

CutForward::Gradients StepRecording::record_backward(variable_list&& gradients, bool keep_graph,
                                                     bool create_graph) {
    if (create_graph) recorder_.refuse_step("a second derivative is asked for (create_graph=True)");
    if (done_) return backward_again(gradients, keep_graph, create_graph);
    if (keep_graph) recorder_.refuse_step("the backward may run twice (retain_graph=True)");
    if (shared_outputs_.happened())
        recorder_.refuse_step("outputs that share memory are written to before the backward");
    const bool around = cut_.is_reached_around();
    if (around)
        recorder_.refuse_step(
            "the loss reaches tensors of the step by another way than the module's outputs: return them from "
            "the forward");
    if (const char* why = cut_.why_sums_differ()) recorder_.refuse_step(why);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (!inputs_[i].is_inference() &&
            static_cast<std::uint32_t>(inputs_[i]._version()) != input_versions_[i])
            recorder_.refuse_step("input " + std::to_string(i) +
                                  " is written to before the backward: write to a clone");

    const struct WatchNoMore {
        StepRecording& recording;
        ~WatchNoMore() { recording.watch_no_more(); }
    } when_it_ends{*this};
    std::unique_ptr<DispatchModeGuard> guard = in_force();
    if (!guard) {
        unrecorded_ = true;
        recorder_.refuse_step("another step is recorded at the same time");
    }
    check_eviction();
    measure_loss();
    const std::vector<at::Tensor> parameters = trained();
    std::vector<int> from;
    variable_list given;
    for (std::size_t i = 0; i < cut_places_.size() && !recorder_.refusal(); ++i) {
        if (!gradients[i].defined()) unused_outputs_.push_back(cut_places_[i]);
        if (gradients[i].defined()) from.push_back(cut_places_[i]), given.push_back(gradients[i]);
    }
    const GradientMarks gradients_before(parameters);
    CutForward::Gradients made;
    if (recorder_.refusal()) {
        guard = nullptr;
        const bool keep = keep_graph || around || create_graph;
        made = cut_.backward(gradients, parameters, keep, create_graph);
        // A second backward must run the module's own graph. The edges may change only after this backward.
        if (keep)
            torch::autograd::Engine::get_default_engine().queue_callback(
                [self = shared_from_this()] { self->uncut("the backward may run twice"); });
    } else {
        recorder_.begin_backward(from, given);
        loss_.kept += recorder_.released_bytes();  // the graph counts these bytes until the loss
        given.clear();
        try {
            made = cut_.backward(gradients, parameters, false, false);
        } catch (const c10::OutOfMemoryError&) {
            out_of_memory_ = true;
            throw;
        }
        guard = nullptr;
    }
    if (gradients_before.changed())
        recorder_.refuse_step(
            "the backward of a torch.autograd.Function changes .grad of parameters: let it return gradients");
    std::vector<GradientMade> named;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        named.push_back({trained_[i].name, -1, made.parameters[i]});
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].requires_grad()) named.push_back({"", static_cast<int>(i), made.inputs[i]});
    if (!recorder_.refusal()) {
        recorder_.check_generator();
        recording_ = recorder_.finish(named);
        refuse_random_hooks();
    }
    inputs_.clear();  // a batch must not live as long as its recording
    done_ = true;
    return made;
}

}  // namespace rematlas
