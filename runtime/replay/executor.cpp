#include "runtime/replay/executor.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "runtime/replay/operand_table.h"

namespace rematlas {
namespace {

std::string shape_text(c10::ScalarType dtype, c10::IntArrayRef sizes) {
    return to_string(InputSpec{.dtype = dtype, .sizes = sizes.vec(), .bound = {}});
}

std::string label(const Graph& graph, OpId op) {
    const Op& info = graph.ops[op];
    return "op " + std::to_string(op.value) + " " + info.name +
           (info.module.empty() ? "" : " in " + info.module);
}

/// An op with its kernel looked up and its stack laid out.
struct PreparedOp {
    std::optional<c10::OperatorHandle> handle;  ///< none for rematlas::output_gradients
    torch::jit::Stack stack;
    std::vector<std::size_t> lists;  ///< positions that are copied for each run, for kernels may change them
    std::vector<std::size_t> statistics;  ///< positions that only the first run is given
    int turn = -1;  ///< of a random op: its place among all of them, in the captured order
};

/// A list of its own; the tensors in it are shared.
c10::IValue copy_of_list(const c10::IValue& list) {
    if (list.isTensorList()) return list.toTensorList().copy();
    if (list.isOptionalTensorList()) return list.toOptionalTensorList().copy();
    return list.deepcopy();
}

/// The executor's own view of an op while a step runs.
struct OpProgress {
    int runs = 0;
    std::unique_ptr<GeneratorState> generator;  ///< as it was before the op's turn, when that is needed later
};

/// Where a kernel writes that writes over one of its inputs.
enum class Writes { into_the_tensor, into_a_copy };

using Clock = std::chrono::steady_clock;

}  // namespace

struct Executor::State {
    const Graph& graph;
    Tape tape;
    DeviceRuntime& device;
    OperandTable operands;
    IdVector<OpId, PreparedOp> ops;
    std::vector<OpId> random_ops;
    IdVector<TensorId, std::uint8_t> resident;
    std::int64_t resident_bytes = 0;

    // Of the step that runs.
    IdVector<OpId, OpProgress> progress;
    IdVector<OpId, int> runs_planned;
    int next_turn = 0;                 ///< the generator stands before this random op's turn
    std::vector<c10::Storage> copies;  ///< that the kernel of the op writes to
    const ReplayOptions* options = nullptr;
    torch::jit::Stack stack;

    std::unique_ptr<StepMemory> memory;  ///< of steps that run in an arena
    std::vector<Step> memory_steps;      ///< it was begun for these
    std::uint64_t memory_key = 0;

    State(const Graph& g, Tape t, DeviceRuntime& d)
        : graph(g),
          tape(std::move(t)),
          device(d),
          operands(tape.operands, g.tensors.size(), d.device()),
          resident(g.tensors.size(), 1) {
        for (const Op& op : graph.ops)
            for (TensorId out : op.outputs) resident[out] = 0;
        for (TensorId tensor : graph.tensors.ids())
            if (resident[tensor]) resident_bytes += graph.tensors[tensor].bytes.value;
    }

    Result<void> check_geometry() const;
    Result<void> bind(const Model& model);
    Result<void> place_constants();
    Result<void> prepare();
    PreparedOp prepare(OpId op);
    bool updates_for_good(const TapeOp& op, int operand) const;
    Result<void> feed(const std::vector<at::Tensor>& inputs);
    Result<void> plan(std::span<const Step> steps);
    Writes writes(const Overwrite& overwrite, bool in_place) const;
    void begin_overwrites(OpId op, bool in_place);
    void end_overwrites(OpId op, bool in_place);
    void run_op(OpId op, bool in_place);
    std::unique_ptr<GeneratorState> turn_generator(OpId op);
    void skip_turn();
    void give_output_gradients(OpId op);
    void take_returns(OpId op);
    void run_step(const Step& step);
    StepMemory* begin_memory(std::span<const Step> steps);
    void finish(Replayed& result);
    void drop_all();
};

/// A damaged file must not make kernels read beyond a storage.
Result<void> Executor::State::check_geometry() const {
    for (const Operand& operand : tape.operands) {
        __int128 last = operand.offset;
        bool empty = false;
        for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
            if (operand.sizes[i] < 0 || operand.strides[i] < 0)
                return Error{graph.name + ": replay: an operand with a negative size or stride"};
            empty = empty || operand.sizes[i] == 0;
            last += static_cast<__int128>(operand.sizes[i] - 1) * operand.strides[i];
        }
        const auto item = static_cast<__int128>(c10::elementSize(operand.dtype));
        const __int128 room =
            operand.tensor.valid() ? graph.tensors[operand.tensor].bytes.value : std::int64_t{1} << 62;
        if (!empty && (last + 1) * item > room) {
            return Error{graph.name + ": replay: an operand reaches beyond " +
                         (operand.tensor.valid() ? graph.tensors[operand.tensor].name : "memory")};
        }
    }
    return {};
}

Result<void> Executor::State::bind(const Model& model) {
    std::unordered_map<std::string, const at::Tensor*> by_name;
    for (const NamedTensor& named : model.tensors) by_name.emplace(named.name, &named.tensor);
    for (const Binding& binding : tape.bindings) {
        const std::string what = (binding.is_parameter ? "parameter " : "buffer ") + binding.name;
        const auto found = by_name.find(binding.name);
        if (found == by_name.end())
            return Error{model.file_name + ": the model has no " + what +
                         ", which the graph was captured with"};
        const at::Tensor& tensor = *found->second;
        const Operand& expected = binding.operand;
        if (tensor.scalar_type() != expected.dtype || tensor.sizes() != c10::IntArrayRef(expected.sizes)) {
            return Error{model.file_name + ": " + what + " is " +
                         shape_text(tensor.scalar_type(), tensor.sizes()) + ", the graph was captured with " +
                         shape_text(expected.dtype, expected.sizes)};
        }
        const auto bytes = graph.tensors[expected.tensor].bytes.value;
        if (tensor.strides() != c10::IntArrayRef(expected.strides) ||
            tensor.storage_offset() != expected.offset ||
            static_cast<std::int64_t>(tensor.storage().nbytes()) != bytes) {
            return Error{model.file_name + ": " + what +
                         " lies differently in memory than when the graph was captured"};
        }
        operands.place(expected.tensor, tensor.storage());
        by_name.erase(found);
    }
    if (!by_name.empty())
        return Error{model.file_name + ": the graph was captured without " + by_name.begin()->first +
                     ", which the model has"};
    return {};
}

Result<void> Executor::State::place_constants() {
    IdVector<TensorId, std::uint8_t> on_host(graph.tensors.size(), 0);
    for (const Operand& operand : tape.operands)
        if (operand.on_host && operand.tensor.valid()) on_host[operand.tensor] = true;
    for (auto& [tensor, bytes] : tape.constants) {
        if (static_cast<std::int64_t>(bytes.size()) != graph.tensors[tensor].bytes.value)
            return Error{graph.name + ": replay: a constant of the wrong size"};
        const at::Tensor host = at::empty({static_cast<std::int64_t>(bytes.size())},
                                          c10::TensorOptions().dtype(c10::ScalarType::Byte));
        if (!bytes.empty()) std::memcpy(host.storage().mutable_data(), bytes.data(), bytes.size());
        operands.place(tensor, on_host[tensor] ? host.storage() : host.to(device.device()).storage());
        std::string().swap(bytes);
    }
    for (TensorId tensor : graph.tensors.ids()) {
        if (resident[tensor] && graph.tensors[tensor].kind != TensorKind::input && !operands.holds(tensor)) {
            return Error{graph.name + ": replay: nothing says what is in " + graph.tensors[tensor].name};
        }
    }
    return {};
}

/// The op writes to the operand on its first run only, and its outputs do not depend on what was there.
bool Executor::State::updates_for_good(const TapeOp& op, int operand) const {
    return operand != no_operand &&
           std::any_of(op.overwrites.begin(), op.overwrites.end(), [&](const Overwrite& overwrite) {
               return !overwrite.after.valid() && overwrite.before == tape.operands[operand].tensor;
           });
}

PreparedOp Executor::State::prepare(OpId id) {
    const TapeOp& op = tape.ops[id];
    PreparedOp prepared;
    if (graph.ops[id].random) {
        prepared.turn = static_cast<int>(random_ops.size());
        random_ops.push_back(id);
    }
    if (op.name == output_gradients_op) {
        const bool complete =
            op.arguments.size() == 2 && op.arguments[1].operands.size() == op.returns.size() &&
            std::all_of(op.returns.begin(), op.returns.end(), [](TensorId id) { return id.valid(); });
        TORCH_CHECK(complete, "does not say what it makes");
        return prepared;
    }
    prepared.handle = c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload.c_str());
    TORCH_CHECK(prepared.handle->schema().arguments().size() == op.arguments.size(), op.name,
                " takes another number of arguments in this libtorch");
    const auto tensor = [&](int operand) { return operand == no_operand ? at::Tensor() : operands[operand]; };
    for (const Argument& argument : op.arguments) {
        switch (argument.kind) {
            case Argument::Kind::value:
                prepared.stack.push_back(argument.value);
                break;
            case Argument::Kind::tensor:
                if (updates_for_good(op, argument.operands.front()))
                    prepared.statistics.push_back(prepared.stack.size());
                prepared.stack.emplace_back(tensor(argument.operands.front()));
                break;
            case Argument::Kind::tensors: {
                c10::List<at::Tensor> list;
                for (int operand : argument.operands) list.push_back(tensor(operand));
                prepared.stack.emplace_back(std::move(list));
                break;
            }
            case Argument::Kind::optional_tensors: {
                c10::List<std::optional<at::Tensor>> list;
                for (int operand : argument.operands)
                    list.push_back(operand == no_operand ? std::nullopt : std::optional(operands[operand]));
                prepared.stack.emplace_back(std::move(list));
                break;
            }
        }
        if (prepared.stack.back().isList()) prepared.lists.push_back(prepared.stack.size() - 1);
    }
    return prepared;
}

Result<void> Executor::State::prepare() {
    for (OpId op : graph.ops.ids()) {
        try {
            ops.push_back(prepare(op));
        } catch (const std::exception& error) {
            return Error{graph.name + ": " + label(graph, op) + ": " + one_line(error)};
        }
    }
    return {};
}

Result<void> Executor::State::feed(const std::vector<at::Tensor>& inputs) {
    if (inputs.size() != tape.inputs.size()) {
        return Error{"the graph takes " + std::to_string(tape.inputs.size()) + " inputs, " +
                     std::to_string(inputs.size()) + " were given"};
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Operand& expected = tape.operands[tape.inputs[i].second];
        const at::Tensor& input = inputs[i];
        if (input.scalar_type() != expected.dtype || input.sizes() != c10::IntArrayRef(expected.sizes) ||
            input.device() != device.device()) {
            return Error{"input " + std::to_string(i) + " is " +
                         shape_text(input.scalar_type(), input.sizes()) + ", the graph takes " +
                         shape_text(expected.dtype, expected.sizes)};
        }
        operands.place(expected.tensor, input.contiguous().storage());
    }
    return {};
}

/// Which ops run again, and whether the generator is drawn from in the captured order.
Result<void> Executor::State::plan(std::span<const Step> steps) {
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

void Executor::State::give_output_gradients(OpId id) {
    const TapeOp& op = tape.ops[id];
    std::vector<at::Tensor> gradients;
    for (int index : op.arguments[1].operands) {
        const Operand& operand = tape.operands[index];
        gradients.push_back(
            at::empty(operand.sizes, c10::TensorOptions().dtype(operand.dtype).device(device.device())));
    }
    if (options->output_gradients) {
        TORCH_CHECK(options->output_gradients->size() == gradients.size(), gradients.size(),
                    " gradients of outputs are needed");
        for (std::size_t i = 0; i < gradients.size(); ++i)
            gradients[i].copy_((*options->output_gradients)[i]);
    } else {
        draw_output_gradients(gradients, options->gradient_seed);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) operands.place(op.returns[i], gradients[i].storage());
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
        const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
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

/// Null when the step runs without an arena.
StepMemory* Executor::State::begin_memory(std::span<const Step> steps) {
    if (!options->arena || !device.device().is_cpu()) return nullptr;
    if (!memory) memory = std::make_unique<StepMemory>(host_memory());
    if (!std::equal(steps.begin(), steps.end(), memory_steps.begin(), memory_steps.end())) {
        memory_steps.assign(steps.begin(), steps.end());
        ++memory_key;
    }
    memory->begin_step(memory_key);
    return memory.get();
}

void Executor::State::finish(Replayed& result) {
    while (next_turn < static_cast<int>(random_ops.size())) skip_turn();
    for (int operand : tape.outputs)
        result.outputs.push_back(operand == no_operand ? at::Tensor()
                                                       : operands.view(tape.operands[operand]));
    for (const GradientOf& gradient : tape.gradients) {
        result.gradients.push_back(
            gradient.operand == no_operand ? at::Tensor() : operands.view(tape.operands[gradient.operand]));
    }
    for (const BufferUpdate& update : tape.updates) {
        c10::Storage buffer = operands.storage(update.buffer);
        device.copy(buffer, operands.storage(update.contents));
    }
}

void Executor::State::drop_all() {
    for (TensorId tensor : graph.tensors.ids())
        if ((!resident[tensor] || graph.tensors[tensor].kind == TensorKind::input) && operands.holds(tensor))
            operands.clear(tensor);
    stack.clear();
    copies.clear();
}

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

const Tape& Executor::tape() const {
    return state_->tape;
}

Result<Executor> Executor::create(const Graph& graph, const Model& model, DeviceRuntime& device) {
    if (!graph.replay)
        return Error{graph.name + ": the graph holds nothing to replay; it was not captured from a model"};
    Result<Tape> tape = tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size());
    if (!tape) return tape.error();
    return create(graph, tape.take(), model, device);
}

Result<Executor> Executor::create(const Graph& graph, Tape tape, const Model& model, DeviceRuntime& device) {
    auto state = std::make_unique<State>(graph, std::move(tape), device);
    if (Result<void> inside = state->check_geometry(); !inside) return inside.error();
    if (Result<void> bound = state->bind(model); !bound) return bound.error();
    if (Result<void> placed = state->place_constants(); !placed) return placed.error();
    if (Result<void> prepared = state->prepare(); !prepared) return prepared.error();
    return Executor(std::move(state));
}

Result<Replayed> Executor::run(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                               const ReplayOptions& options) {
    State& state = *state_;
    if (Result<void> fed = state.feed(inputs); !fed) return fed.error();
    if (Result<void> planned = state.plan(steps); !planned) return planned.error();
    state.options = &options;

    at::AutoDispatchBelowADInplaceOrView below_autograd;
    at::NoGradGuard no_grad;
    DeviceRuntime& device = state.device;
    Replayed result;
    if (options.time_ops) result.steps.resize(steps.size());
    device.synchronize();
    device.reset_peak();
    const std::int64_t before = device.alive_bytes() - state.resident_bytes;
    const auto began = Clock::now();
    const std::int64_t origin = device.now();
    std::int64_t highest = 0;
    std::size_t at = 0;
    StepMemory* const memory = state.begin_memory(steps);
    try {
        const StepMemory::Scope scope(memory);
        for (; at < steps.size(); ++at) {
            if (!options.time_ops) {
                state.run_step(steps[at]);
                continue;
            }
            StepMeasure& measure = result.steps[at];
            const std::int64_t alive = device.alive_bytes();
            if (options.measure_ops) device.reset_peak();
            measure.start = device.now() - origin;
            state.run_step(steps[at]);
            measure.end = device.now() - origin;
            measure.alive = device.alive_bytes() - before;
            if (options.measure_ops) {
                highest = std::max(highest, device.peak_bytes());
                measure.workspace = device.peak_bytes() - alive;
            }
        }
        state.finish(result);
        device.synchronize();
    } catch (const std::exception& error) {
        state.drop_all();
        const std::string where =
            at < steps.size() && steps[at].runs() ? label(state.graph, steps[at].op()) + ": " : "";
        return Error{"step " + std::to_string(at) + ": " + where + one_line(error)};
    }
    result.time =
        Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count());
    result.peak = Bytes(std::max(highest, device.peak_bytes()) - before);
    state.drop_all();
    if (memory) {
        memory->end_step();
        result.memory = memory->report();
    }
    return result;
}

}  // namespace rematlas
