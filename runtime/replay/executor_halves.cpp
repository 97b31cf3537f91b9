#include <algorithm>

#include "runtime/replay/executor_state.h"

namespace rematlas {

/// Counters and the like hang on nothing, so a schedule may put them anywhere; the original moves them in its
/// forward. They go first, where the least memory is taken.
void Executor::State::move_counters_first() {
    const auto counts = [&](const Step& step) {
        if (!step.runs()) return false;
        const Op& op = graph.ops[step.op()];
        return op.phase == Phase::forward && !op.random && !op.mutates.empty() && op.outputs.empty() &&
               std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId in) { return resident[in]; });
    };
    std::stable_partition(steps.begin(), steps.end(), counts);
}

/// Where the forward ends, and whether it can end there: with all outputs made, and with the generator where
/// the original's forward leaves it.
Result<void> Executor::State::plan_halves() {
    if (!loss.valid())
        return Error{graph.name +
                     ": the graph has a loss of its own, so its step has no halves; capture it "
                     "with the caller's loss (--loss output)"};
    move_counters_first();
    IdVector<OpId, std::uint8_t> ran(graph.ops.size(), 0);
    IdVector<TensorId, std::uint8_t> there = resident;
    for (loss_step = 0; loss_step < steps.size(); ++loss_step) {
        const Step& step = steps[loss_step];
        if (!step.runs()) {
            there[step.tensor()] = resident[step.tensor()];
            continue;
        }
        if (step.op() == loss) break;
        ran[step.op()] = true;
        for (TensorId made : graph.ops[step.op()].outputs) there[made] = true;
        if (ops[step.op()].turn >= forward_random)
            return Error{"the schedule runs " + label(graph, step.op()) +
                         " of the backward, which draws random numbers, before the loss"};
    }
    for (int operand : tape.outputs)
        if (operand != no_operand && !there[tape.operands[operand].tensor])
            return Error{"the schedule makes output " + graph.tensors[tape.operands[operand].tensor].name +
                         " after the loss"};
    for (int turn = 0; turn < forward_random; ++turn) {
        if (ran[random_ops[turn]] || tape.ops[random_ops[turn]].draws) continue;
        return Error{"the schedule runs " + label(graph, random_ops[turn]) +
                     " after the loss, and its use of the random number generator cannot be foreseen"};
    }
    return {};
}

/// The steps to come read these; outputs only where they do.
void Executor::State::watch(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    const auto add = [&](const at::Tensor& tensor, std::string what) {
        if (tensor.is_inference()) return;
        const c10::VariableVersion& version = tensor.unsafeGetTensorImpl()->version_counter();
        watched.push_back({version, version.current_version(), std::move(what)});
    };
    for (const BoundTensor& one : bound) {
        const Binding& binding = tape.bindings[one.binding];
        if (binding.is_parameter) add(one.tensor, "parameter " + binding.name);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (reads_later(tape.operands[tape.inputs[i].second].tensor))
            add(inputs[i], "input " + std::to_string(i));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (tape.outputs[i] != no_operand && reads_later(tape.operands[tape.outputs[i]].tensor))
            add(outputs[i], "output " + std::to_string(i));
}

Result<void> Executor::State::check_watched() const {
    for (const Watched& one : watched)
        if (one.version.current_version() != one.seen)
            return Error{one.what + " was written to between the forward and its backward, which needs it"};
    return {};
}

/// Keeps the gradients for the step that asks for them. Returns the bytes of those that it can use as they
/// are.
std::int64_t Executor::State::take_given(std::vector<at::Tensor> gradients) {
    given = std::move(gradients);
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Operand& operand = tape.operands[tape.ops[loss].arguments[1].operands[i]];
        const bool alone = given[i].defined() && given[i].has_storage() && given[i].use_count() == 1 &&
                           given[i].storage().use_count() == 1 && !given[i].is_conj() && !given[i].is_neg() &&
                           given[i].storage_offset() == 0 && given[i].scalar_type() == operand.dtype &&
                           given[i].sizes() == c10::IntArrayRef(operand.sizes) &&
                           lies_as(given[i], operand) &&
                           device.footprint(static_cast<std::int64_t>(given[i].storage().nbytes())) ==
                               graph.tensors[operand.tensor].bytes.value;
        if (!alone) continue;
        taken += graph.tensors[operand.tensor].bytes.value;
        operands.place(operand.tensor, given[i].storage());
        given[i] = at::Tensor();
    }
    return taken;
}

Result<Forwarded> Executor::forward(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                                    const ReplayOptions& options) {
    State& state = *state_;
    ++state.number;
    if (Result<void> begun = state.begin(steps, inputs, {.arena = options.arena}); !begun)
        return begun.error();
    if (Result<void> halves = state.plan_halves(); !halves) return halves.error();
    Forwarded result{.number = state.number};
    Result<void> played = state.play(state.loss_step, [&] {
        while (state.next_turn < state.forward_random) state.skip_turn();
        const bool all_made =
            std::all_of(state.tape.updates.begin(), state.tape.updates.end(),
                        [&](const BufferUpdate& update) { return state.operands.holds(update.contents); });
        if (all_made) state.update_buffers();
        result.outputs = state.outputs();
    });
    if (!played) return played.error();
    state.watch(inputs, result.outputs);
    state.waiting = true;
    state.highest = state.device.peak_bytes() - state.outside;
    state.held = state.device.alive_bytes() - state.outside;
    result.peak = Bytes(state.highest);
    return result;
}

Result<Replayed> Executor::backward(std::uint64_t number, std::vector<at::Tensor> output_gradients) {
    State& state = *state_;
    if (number != state.number)
        return Error{
            "this backward comes too late: another forward of the same module has run since its own, "
            "and the step holds the tensors of one at a time"};
    if (!state.waiting)
        return Error{"this backward has run before, or its forward was dropped; its tensors are freed"};
    if (output_gradients.size() != state.tape.ops[state.loss].returns.size())
        return Error{std::to_string(state.tape.ops[state.loss].returns.size()) +
                     " gradients of outputs are needed, " + std::to_string(output_gradients.size()) +
                     " were given"};
    if (Result<void> untouched = state.check_watched(); !untouched) return untouched.error();
    state.watched.clear();

    const auto began = Clock::now();
    state.device.reset_peak();
    const std::int64_t alive = state.device.alive_bytes();
    const std::int64_t taken = state.take_given(std::move(output_gradients));
    state.outside = alive - state.held - taken;
    Result<void> played = state.play(state.steps.size(), [&] {
        while (state.next_turn < static_cast<int>(state.random_ops.size())) state.skip_turn();
        state.result.gradients = state.gradients();
        state.update_buffers();
    });
    if (!played) return played.error();
    state.waiting = false;
    Replayed result = state.end(Clock::now() - began);
    at::NoGradGuard no_grad;
    for (at::Tensor& gradient : result.gradients)
        if (gradient.defined() && gradient.storage().use_count() > 1) gradient = gradient.clone();
    return result;
}

void Executor::drop(std::uint64_t number) {
    if (number != state_->number || !state_->waiting) return;
    state_->waiting = false;
    state_->drop_all();
}

std::vector<int> Executor::differentiable_outputs() const {
    std::vector<int> places;
    if (!state_->loss.valid()) return places;
    const Tape& tape = state_->tape;
    int place = 0;
    for (int operand : tape.ops[state_->loss].arguments[0].operands) {
        while (place < static_cast<int>(tape.outputs.size()) && tape.outputs[place] != operand) ++place;
        places.push_back(place++);
    }
    return places;
}

}  // namespace rematlas
