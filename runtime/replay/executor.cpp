#include "runtime/replay/executor.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>

#include "runtime/replay/compare.h"
#include "runtime/replay/executor_state.h"

namespace rematlas {
namespace {

bool same_number(const c10::IValue& a, const c10::IValue& b) {
    if (a.isDouble() && b.isDouble())  // NaN is itself
        return std::bit_cast<std::uint64_t>(a.toDouble()) == std::bit_cast<std::uint64_t>(b.toDouble());
    return a == b;
}

void expect_unchanged(const Guard& guard, const c10::IValue& read) {
    TORCH_CHECK(same_number(guard.value, read), "the program reads ", read,
                guard.line.empty() ? "" : " at " + guard.line, ", and ", guard.value,
                " when it was captured: its course depends on the data");
}

/// A list of its own; the tensors in it are shared.
c10::IValue copy_of_list(const c10::IValue& list) {
    if (list.isTensorList()) return list.toTensorList().copy();
    if (list.isOptionalTensorList()) return list.toOptionalTensorList().copy();
    return list.deepcopy();
}

}  // namespace

std::string label(const Graph& graph, OpId op) {
    const Op& info = graph.ops[op];
    return "op " + std::to_string(op.value) + " " + info.name +
           (info.module.empty() ? "" : " in " + info.module);
}

/// Which ops run again, and whether the generator is drawn from in the captured order.
Result<void> Executor::State::plan() {
    runs_planned = IdVector<OpId, int>(graph.ops.size(), 0);
    progress = IdVector<OpId, OpProgress>();
    progress.resize(graph.ops.size());
    next_turn = 0;
    int turn = 0;
    for (const Step& step : steps) {
        if (step.kind == StepKind::offload || step.kind == StepKind::fetch) {
            return Error{"step '" + std::string(to_string(step.kind)) + "' of " +
                         graph.tensors[step.tensor()].name +
                         ": the executor does not move tensors to the host"};
        }
        if (!step.runs()) continue;
        const bool first = runs_planned[step.op()]++ == 0;
        if (!first || ops[step.op()].turn < turn) continue;
        for (; turn < ops[step.op()].turn; ++turn) {
            if (tape.ops[random_ops[turn]].draws) continue;
            return Error{"the schedule runs " + label(graph, step.op()) + " before " +
                         label(graph, random_ops[turn]) +
                         ", whose use of the random number generator cannot be foreseen"};
        }
        ++turn;
    }
    return {};
}

Result<void> Executor::State::begin(std::span<const Step> schedule, const std::vector<at::Tensor>& inputs,
                                    const ReplayOptions& how) {
    waiting = false;
    drop_all();
    if (Result<void> fits = bind_again(); !fits) return fits.error();
    if (Result<void> fed = feed(inputs); !fed) return fed.error();
    steps.assign(schedule.begin(), schedule.end());
    if (Result<void> planned = plan(); !planned) return planned.error();
    at = 0;
    options = how;
    result = {};
    highest = 0;
    buffers_updated = false;
    if (options.time_ops) {
        result.steps.reserve(steps.size());
        marks = device.marks(steps.size() + 1);
    }
    device.synchronize();
    device.reset_peak();
    outside = device.alive_bytes() - resident_bytes;
    begin_memory();
    return {};
}

/// Whether a step that has yet to run looks at what the tensor holds.
bool Executor::State::reads_later(TensorId tensor) const {
    return std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(at), steps.end(), [&](const Step& step) {
        if (!step.runs() || step.op() == loss) return false;
        const auto& inputs = graph.ops[step.op()].inputs;
        return std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
    });
}

void Executor::State::give_output_gradients(OpId id) {
    const TapeOp& op = tape.ops[id];
    std::vector<at::Tensor> gradients;
    for (std::size_t i = 0; i < op.returns.size(); ++i) {
        if (operands.holds(op.returns[i])) continue;  // the caller's own
        const Operand& operand = tape.operands[op.arguments[1].operands[i]];
        gradients.push_back(
            at::empty(operand.sizes, c10::TensorOptions().dtype(operand.dtype).device(device.device())));
        operands.place(op.returns[i], gradients.back().storage());
        if (!given.empty()) gradients.back().copy_(given[i]);
    }
    if (given.empty() && !waiting) draw_output_gradients(gradients, options.gradient_seed);
    given.clear();
}

/// Places what the kernel made; the stack holds its returns.
void Executor::State::take_returns(OpId id) {
    const TapeOp& op = tape.ops[id];
    std::size_t next = 0;
    const auto take = [&](const at::Tensor& tensor) {
        const TensorId made = next < op.returns.size() ? op.returns[next] : TensorId();
        ++next;
        if (!made.valid()) return;
        TORCH_CHECK(tensor.defined(), "made no ", graph.tensors[made].name);
        const std::int64_t bytes = device.footprint(static_cast<std::int64_t>(tensor.storage().nbytes()));
        TORCH_CHECK(bytes == graph.tensors[made].bytes.value, "made ", bytes, " bytes, ",
                    graph.tensors[made].bytes.value, " when it was captured");
        operands.place(made, tensor.storage());
    };
    for (const c10::IValue& value : stack) {
        if (value.isTensor()) {
            take(value.toTensor());
        } else if (value.isTensorList()) {
            for (const c10::IValue& element : value.toListRef()) take(element.toTensor());
        }
    }
    stack.clear();
}

/// Moves the generator over the turn of a random op that has not run yet.
void Executor::State::skip_turn() {
    const OpId skipped = random_ops[next_turn++];
    progress[skipped].generator = device.generator_state();
    const std::unique_ptr<GeneratorState> moved = device.generator_state();
    moved->advance(tape.ops[skipped].draws.value());
    device.set_generator_state(*moved);
}

/// Puts the generator where the captured step had it before this op. Returns the state to restore after the
/// op, or null when it is the op's turn and the generator moves on with it.
std::unique_ptr<GeneratorState> Executor::State::turn_generator(OpId id) {
    const int turn = ops[id].turn;
    if (recording) {
        device.place_generator(draws_before(turn));
        return nullptr;
    }
    while (next_turn < turn) skip_turn();
    if (next_turn == turn) {
        ++next_turn;
        if (runs_planned[id] > 1) progress[id].generator = device.generator_state();
        return nullptr;
    }
    auto now = device.generator_state();
    device.set_generator_state(*progress[id].generator);
    return now;
}

Writes Executor::State::writes(const Overwrite& overwrite, bool in_place) const {
    if (!overwrite.after.valid()) return Writes::into_the_tensor;
    return in_place && !resident[overwrite.before] ? Writes::into_the_tensor : Writes::into_a_copy;
}

/// Lets the kernel look at copies where the old contents must stay.
void Executor::State::begin_overwrites(OpId id, bool in_place) {
    copies.clear();
    for (const Overwrite& overwrite : tape.ops[id].overwrites) {
        if (writes(overwrite, in_place) == Writes::into_the_tensor) continue;
        const c10::Storage& original = operands.storage(overwrite.before);
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(device.device());
        copies.push_back(at::empty({static_cast<std::int64_t>(original.nbytes())}, options).storage());
        device.copy(copies.back(), original);
        operands.redirect(overwrite.before, copies.back());
    }
}

/// Gives what was written its name, and the old contents back to theirs.
void Executor::State::end_overwrites(OpId id, bool in_place) {
    std::size_t next = 0;
    for (const Overwrite& overwrite : tape.ops[id].overwrites) {
        if (writes(overwrite, in_place) == Writes::into_a_copy) {
            operands.redirect(overwrite.before, operands.storage(overwrite.before));
            operands.place(overwrite.after, std::move(copies[next++]));
        } else if (overwrite.after.valid()) {
            c10::Storage storage = operands.storage(overwrite.before);
            operands.clear(overwrite.before);
            operands.place(overwrite.after, std::move(storage));
        }
    }
    copies.clear();
}

void Executor::State::run_op(OpId id, bool in_place) {
    PreparedOp& op = ops[id];
    const bool again = progress[id].runs++ > 0;
    if (!op.handle) return give_output_gradients(id);

    begin_overwrites(id, in_place);
    const std::unique_ptr<GeneratorState> now = op.turn >= 0 ? turn_generator(id) : nullptr;
    stack = op.stack;
    for (std::size_t position : op.lists) stack[position] = copy_of_list(stack[position]);
    if (again)
        for (std::size_t position : op.statistics) stack[position] = at::Tensor();
    at::GradMode::set_enabled(tape.ops[id].grad_mode);
    op.handle->callBoxed(stack);
    at::GradMode::set_enabled(false);
    if (now) device.set_generator_state(*now);
    if (tape.ops[id].guard) expect_unchanged(*tape.ops[id].guard, stack.front());
    take_returns(id);

    end_overwrites(id, in_place);
}

void Executor::State::run_step(const Step& step) {
    if (step.runs()) {
        run_op(step.op(), step.kind == StepKind::run_inplace);
    } else if (!resident[step.tensor()]) {
        operands.clear(step.tensor());
    }
}

/// Where the step runs in an arena: one and the same as long as the steps are the same.
void Executor::State::begin_memory() {
    in_memory = options.arena && device.device().is_cpu();
    if (!in_memory) return;
    if (!memory) memory = std::make_unique<StepMemory>(host_memory());
    if (steps != memory_steps) {
        memory_steps = steps;
        ++memory_key;
    }
    memory->begin_step(memory_key);
}

/// Once the step has let go of all that it made.
void Executor::State::end_memory() {
    if (!in_memory) return;
    memory->end_step();
    result.memory = memory->report();
}

void Executor::State::run_timed(const Step& step) {
    StepMeasure measure;
    const std::int64_t alive = device.alive_bytes();
    if (options.measure_ops) device.reset_peak();
    marks->place();
    run_step(step);
    measure.alive = device.alive_bytes() - outside;
    if (options.measure_ops) {
        highest = std::max(highest, device.peak_bytes() - outside);
        measure.workspace = device.peak_bytes() - alive;
    }
    result.steps.push_back(measure);
}

/// Each step took from its mark to the next one.
void Executor::State::read_marks() {
    marks->place();
    const std::vector<std::int64_t> times = marks->read();
    for (std::size_t i = 0; i < result.steps.size(); ++i)
        result.steps[i].start = times[i], result.steps[i].end = times[i + 1];
    marks = nullptr;
}

/// The buffers get their new contents. Where steps to come read the old ones, the two change places.
void Executor::State::update_buffers() {
    if (buffers_updated) return;
    buffers_updated = true;
    for (const BufferUpdate& update : tape.updates) {
        c10::Storage buffer = operands.storage(update.buffer), contents = operands.storage(update.contents);
        if (!reads_later(update.buffer)) {
            device.copy(buffer, contents);
            continue;
        }
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(device.device());
        c10::Storage old = at::empty({static_cast<std::int64_t>(buffer.nbytes())}, options).storage();
        device.copy(old, buffer);
        device.copy(buffer, contents);
        device.copy(contents, old);
        operands.place(update.buffer, std::move(contents));
        operands.place(update.contents, buffer);
        moved.emplace_back(update.buffer, std::move(buffer));
    }
}

std::vector<at::Tensor> Executor::State::outputs() const {
    std::vector<at::Tensor> tensors;
    for (int operand : tape.outputs)
        tensors.push_back(operand == no_operand ? at::Tensor() : operands.view(tape.operands[operand]));
    return tensors;
}

std::vector<at::Tensor> Executor::State::gradients() const {
    std::vector<at::Tensor> tensors;
    for (const GradientOf& gradient : tape.gradients) {
        tensors.push_back(gradient.operand == no_operand ? at::Tensor()
                                                         : operands.view(tape.operands[gradient.operand]));
    }
    return tensors;
}

Replayed Executor::State::end(Clock::duration time) {
    result.time = Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    result.peak = Bytes(std::max(highest, device.peak_bytes() - outside));
    drop_all();
    end_memory();
    return std::move(result);
}

/// Lets go of all that the step made or was fed.
void Executor::State::drop_all() {
    for (TensorId tensor : graph.tensors.ids())
        if ((!resident[tensor] || graph.tensors[tensor].kind == TensorKind::input) && operands.holds(tensor))
            operands.clear(tensor);
    for (auto& [buffer, storage] : moved) operands.place(buffer, std::move(storage));
    moved.clear();
    stack.clear();
    copies.clear();
    given.clear();
    watched.clear();
    progress = IdVector<OpId, OpProgress>();
}

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

const Tape& Executor::tape() const {
    return state_->tape;
}

Result<Replayed> Executor::run(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                               const ReplayOptions& options) {
    State& state = *state_;
    if (Result<void> begun = state.begin(steps, inputs, options); !begun) return begun.error();
    const auto began = Clock::now();
    Result<void> played = state.play(state.steps.size(), [&] {
        if (options.time_ops) state.read_marks();
        while (state.next_turn < static_cast<int>(state.random_ops.size())) state.skip_turn();
        state.result.outputs = state.outputs();
        state.result.gradients = state.gradients();
        state.update_buffers();
        state.device.synchronize();
    });
    if (!played) return played.error();
    return state.end(Clock::now() - began);
}

}  // namespace rematlas
