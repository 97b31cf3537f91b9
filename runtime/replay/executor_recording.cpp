#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "runtime/replay/compare.h"
#include "runtime/replay/executor_state.h"
#include "runtime/replay/recordable.h"

namespace rematlas {

/// How far the random ops before this turn move the generator together.
std::int64_t Executor::State::draws_before(int turn) const {
    return std::accumulate(random_ops.begin(), random_ops.begin() + turn, std::int64_t{0},
                           [&](std::int64_t sum, OpId op) { return sum + tape.ops[op].draws.value(); });
}

/// Two parts with the caller's loss between them, or one. The device runs none of it yet.
Result<void> Executor::State::record() {
    const std::size_t asks = static_cast<std::size_t>(
        std::find_if(steps.begin(), steps.end(),
                     [&](const Step& step) { return step.runs() && step.op() == loss; }) -
        steps.begin());
    const auto play_to = [&](std::size_t end) {
        for (; at < end; ++at) run_step(steps[at]);
    };
    std::vector<std::function<void()>> parts;
    if (asks < steps.size()) {
        for (int index : tape.ops[loss].arguments[1].operands) {
            const Operand& operand = tape.operands[index];
            recorded->output_gradients.push_back(
                at::empty(operand.sizes, c10::TensorOptions().dtype(operand.dtype).device(device.device())));
        }
        parts.push_back([&] { play_to(asks); });
    }
    parts.push_back([&] {
        for (std::size_t i = 0; i < recorded->output_gradients.size(); ++i)
            operands.place(tape.ops[loss].returns[i], recorded->output_gradients[i].storage());
        if (asks < steps.size()) ++at;
        play_to(steps.size());
        recorded->outputs = outputs();
        recorded->gradients = gradients();
        update_buffers();
    });
    BelowAutograd below;
    recording = true;
    std::string failure;
    try {
        recorded->work = device.record(parts);
    } catch (const std::exception& error) {
        failure = (at < steps.size() && steps[at].runs() ? label(graph, steps[at].op()) + ": " : "") +
                  one_line(error);
    }
    recording = false;
    recorded->peak = Bytes(device.peak_bytes() - outside);
    recorded->draws = draws_before(static_cast<int>(random_ops.size()));
    for (const BoundTensor& one : bound) recorded->bound.push_back(one.tensor.const_data_ptr());
    drop_all();
    if (failure.empty()) return {};
    recorded = nullptr;
    return Error{failure, ErrorKind::negative};
}

/// The inputs are the graph's, and parameters and buffers are where they were when the steps were recorded.
Result<void> Executor::State::check_recorded(const std::vector<at::Tensor>& inputs) {
    if (!recorded) return Error{"no step was recorded"};
    for (std::size_t i = 0; i < bound.size(); ++i) {
        if (bound[i].tensor.const_data_ptr() != recorded->bound[i])
            return Error{owner + ": " + tape.bindings[bound[i].binding].name +
                         " was given other memory since the step was recorded"};
    }
    waiting = false;
    Result<void> fed = feed(inputs);
    drop_all();
    return fed;
}

Result<void> Executor::record(std::span<const Step> steps, const std::vector<at::Tensor>& inputs) {
    State& state = *state_;
    state.recorded = nullptr;
    if (!state.device.can_record())
        return Error{"work on " + state.device.name() + " cannot be recorded", ErrorKind::negative};
    if (const auto obstacle = recording_obstacle(state.graph, state.tape, steps))
        return Error{*obstacle, ErrorKind::negative};
    for (OpId op : state.random_ops)
        if (!state.tape.ops[op].draws)
            return Error{
                label(state.graph, op) + ": how far it moves the random number generator is not known",
                ErrorKind::negative};
    auto recorded = std::make_unique<RecordedSteps>();
    recorded->inputs = copies_of(inputs);
    if (Result<void> begun = state.begin(steps, recorded->inputs, {}); !begun) return begun.error();
    state.recorded = std::move(recorded);
    return state.record();
}

Result<Replayed> Executor::run_recorded(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed) {
    State& state = *state_;
    if (Result<void> fits = state.check_recorded(inputs); !fits) return fits.error();
    RecordedSteps& recorded = *state.recorded;
    const auto began = Clock::now();
    try {
        at::NoGradGuard no_grad;
        for (std::size_t i = 0; i < inputs.size(); ++i) recorded.inputs[i].copy_(inputs[i]);
        recorded.work->submit(0);
        if (!recorded.output_gradients.empty()) {
            draw_output_gradients(recorded.output_gradients, gradient_seed);
            recorded.work->submit(1);
        }
        const std::unique_ptr<GeneratorState> generator = state.device.generator_state();
        generator->advance(recorded.draws);
        state.device.set_generator_state(*generator);
        state.device.synchronize();
    } catch (const std::exception& error) {
        return Error{"the recorded step: " + one_line(error)};
    }
    return Replayed{.outputs = recorded.outputs,
                    .gradients = recorded.gradients,
                    .peak = recorded.peak,
                    .time = Nanoseconds(
                        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count())};
}

}  // namespace rematlas
