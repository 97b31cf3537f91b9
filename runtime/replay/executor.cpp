#include "runtime/replay/executor.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "runtime/replay/compare.h"
#include "runtime/replay/operand_table.h"
#include "runtime/replay/recordable.h"

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

/// The executor's own view of an op while a step runs.
struct OpProgress {
    int runs = 0;
    std::unique_ptr<GeneratorState> generator;  ///< as it was before the op's turn, when that is needed later
};

/// Where a kernel writes that writes over one of its inputs.
enum class Writes { into_the_tensor, into_a_copy };

/// A parameter or buffer of the caller's. The executor holds its storage, which the caller may exchange
/// between steps.
struct BoundTensor {
    at::Tensor tensor;
    std::size_t binding;  ///< of the tape
};

/// Something of the caller's that must not be written to between the halves of a step.
struct Watched {
    c10::VariableVersion version;  ///< alone: the tensor of an output leads back here through its history
    std::uint32_t seen;
    std::string what;
};

/// Kernels are called as they were recorded: the casts of an autocast region are ops of the graph.
struct BelowAutograd {
    at::AutoDispatchBelowADInplaceOrView below;
    at::NoGradGuard no_grad;
    c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

/// Lies as the operand does; of an axis with one element the stride says nothing.
bool lies_as(const at::Tensor& tensor, const Operand& operand) {
    for (std::int64_t axis = 0; axis < tensor.dim(); ++axis)
        if (tensor.size(axis) > 1 && tensor.stride(axis) != operand.strides[axis]) return false;
    return true;
}

/// The bytes that the tensor looks at as a storage of its own, which keeps the tensor's alive.
c10::Storage part_of_storage(const at::Tensor& tensor, std::int64_t bytes) {
    auto* owner = new at::Tensor(tensor);
    return c10::Storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                        c10::DataPtr(
                            const_cast<void*>(tensor.const_data_ptr()), owner,
                            [](void* context) { delete static_cast<at::Tensor*>(context); }, tensor.device()),
                        nullptr, false);
}

/// Steps that the device holds as recorded work, and where each submission finds and leaves its tensors.
struct RecordedSteps {
    std::unique_ptr<RecordedWork> work;
    std::vector<at::Tensor> inputs, output_gradients;
    std::vector<at::Tensor> outputs, gradients;
    std::vector<const void*> bound;  ///< addresses of parameters and buffers
    std::int64_t draws = 0;          ///< how far a step moves the generator
    Bytes peak;
};

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
    std::vector<BoundTensor> bound;
    std::string owner;  ///< of what is bound, for errors
    OpId loss;          ///< asks for the gradients of the outputs; invalid where the graph has its own loss
    int forward_random = 0;  ///< random ops that come before the loss in the captured order

    // Of the step that runs.
    std::vector<Step> steps;
    std::size_t at = 0;  ///< the step that runs next
    ReplayOptions options;
    Replayed result;
    std::int64_t outside = 0;  ///< bytes alive that are none of the step's
    std::int64_t highest = 0;  ///< bytes
    IdVector<OpId, OpProgress> progress;
    IdVector<OpId, int> runs_planned;
    int next_turn = 0;                 ///< the generator stands before this random op's turn
    std::vector<c10::Storage> copies;  ///< that the kernel of the op writes to
    torch::jit::Stack stack;

    std::unique_ptr<Marks> marks;  ///< before each step, when ops are timed
    std::unique_ptr<RecordedSteps> recorded;
    bool recording = false;

    // Between the halves of a step.
    std::uint64_t number = 0;  ///< of the last forward
    bool waiting = false;      ///< for its backward
    std::size_t loss_step = 0;
    std::int64_t held = 0;  ///< bytes of the step's at the end of the forward
    bool buffers_updated = false;
    std::vector<std::pair<TensorId, c10::Storage>> moved;  ///< the caller's storages of buffers whose old
                                                           ///< contents lie elsewhere
    std::vector<Watched> watched;
    std::vector<at::Tensor> given;  ///< gradients of outputs

    std::unique_ptr<StepMemory> memory;  ///< of steps that run in an arena
    std::vector<Step> memory_steps;      ///< it was begun for these
    std::uint64_t memory_key = 0;
    bool in_memory = false;  ///< the step that runs does

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
        for (OpId op : graph.ops.ids())
            if (tape.ops[op].name == output_gradients_op) loss = op;
    }

    Result<void> check_device() const;
    Result<void> check_geometry() const;
    Result<void> check_bound(const BoundTensor& bound) const;
    Result<void> bind(const std::vector<NamedTensor>& tensors);
    Result<void> bind_again();
    Result<void> place_constants();
    Result<void> prepare();
    PreparedOp prepare(OpId op);
    bool updates_for_good(const TapeOp& op, int operand) const;
    Result<void> feed(const std::vector<at::Tensor>& inputs);
    Result<void> begin(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                       const ReplayOptions& options);
    Result<void> plan();
    void move_counters_first();
    Result<void> plan_halves();
    bool reads_later(TensorId tensor) const;
    void watch(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs);
    Result<void> check_watched() const;
    std::int64_t take_given(std::vector<at::Tensor> gradients);
    Writes writes(const Overwrite& overwrite, bool in_place) const;
    void begin_overwrites(OpId op, bool in_place);
    void end_overwrites(OpId op, bool in_place);
    void run_op(OpId op, bool in_place);
    std::unique_ptr<GeneratorState> turn_generator(OpId op);
    void skip_turn();
    void give_output_gradients(OpId op);
    void take_returns(OpId op);
    void run_step(const Step& step);
    void begin_memory();
    void end_memory();
    void run_timed(const Step& step);
    void read_marks();
    std::int64_t draws_before(int turn) const;
    Result<void> record();
    Result<void> check_recorded(const std::vector<at::Tensor>& inputs);
    void update_buffers();
    std::vector<at::Tensor> outputs() const;
    std::vector<at::Tensor> gradients() const;
    template <class Work>
    Result<void> play(std::size_t end, Work&& then);
    Replayed end(Clock::duration time);
    void drop_all();
};

/// The ops are those of one kind of device, and so are the bytes of the tensors.
Result<void> Executor::State::check_device() const {
    if (!graph.provenance || !graph.provenance->is_object()) return {};
    const auto type = graph.provenance->find("device_type");
    const std::string mine = c10::DeviceTypeName(device.device().type(), /*lower_case=*/true);
    if (type == graph.provenance->end() || *type == mine) return {};
    return Error{graph.name + ": the graph was captured on " + type->dump() + " and cannot run on " + mine};
}

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

Result<void> Executor::State::check_bound(const BoundTensor& bound) const {
    const Binding& binding = tape.bindings[bound.binding];
    const at::Tensor& tensor = bound.tensor;
    const Operand& expected = binding.operand;
    const auto fail = [&](const std::string& why) {
        return Error{owner + ": " + (binding.is_parameter ? "parameter " : "buffer ") + binding.name + why};
    };
    if (tensor.scalar_type() != expected.dtype || tensor.sizes() != c10::IntArrayRef(expected.sizes)) {
        return fail(" is " + shape_text(tensor.scalar_type(), tensor.sizes()) +
                    ", the graph was captured with " + shape_text(expected.dtype, expected.sizes));
    }
    if (tensor.device() != device.device())
        return fail(" is on " + tensor.device().str() + ", the step runs on " + device.device().str());
    if (!lies_as(tensor, expected) || tensor.storage_offset() != expected.offset ||
        device.footprint(static_cast<std::int64_t>(tensor.storage().nbytes())) !=
            graph.tensors[expected.tensor].bytes.value) {
        return fail(" lies differently in memory than when the graph was captured");
    }
    return {};
}

Result<void> Executor::State::bind(const std::vector<NamedTensor>& tensors) {
    std::unordered_map<std::string, const at::Tensor*> by_name;
    for (const NamedTensor& named : tensors) by_name.emplace(named.name, &named.tensor);
    for (std::size_t i = 0; i < tape.bindings.size(); ++i) {
        const Binding& binding = tape.bindings[i];
        const auto found = by_name.find(binding.name);
        if (found == by_name.end())
            return Error{owner + ": the model has no " + (binding.is_parameter ? "parameter " : "buffer ") +
                         binding.name + ", which the graph was captured with"};
        bound.push_back({*found->second, i});
        if (Result<void> fits = check_bound(bound.back()); !fits) return fits.error();
        operands.place(binding.operand.tensor, bound.back().tensor.storage());
        by_name.erase(found);
    }
    if (!by_name.empty())
        return Error{owner + ": the graph was captured without " + by_name.begin()->first +
                     ", which the model has"};
    return {};
}

/// The caller may have exchanged storages since.
Result<void> Executor::State::bind_again() {
    for (const BoundTensor& one : bound) {
        if (Result<void> fits = check_bound(one); !fits) return fits.error();
        const TensorId tensor = tape.bindings[one.binding].operand.tensor;
        if (one.tensor.storage().unsafeGetStorageImpl() != operands.storage(tensor).unsafeGetStorageImpl())
            operands.place(tensor, one.tensor.storage());
    }
    return {};
}

Result<void> Executor::State::place_constants() {
    IdVector<TensorId, std::uint8_t> on_host(graph.tensors.size(), 0), looked_at = on_host;
    for (const Operand& operand : tape.operands) {
        if (!operand.tensor.valid()) continue;
        on_host[operand.tensor] |= operand.on_host;
        looked_at[operand.tensor] = true;
    }
    for (const BufferUpdate& update : tape.updates) looked_at[update.buffer] = true;
    for (const TapeOp& op : tape.ops)
        for (const Overwrite& overwrite : op.overwrites) looked_at[overwrite.before] = true;
    for (auto& [tensor, bytes] : tape.constants) {
        const std::int64_t room = graph.tensors[tensor].bytes.value;
        if (device.footprint(static_cast<std::int64_t>(bytes.size())) != room)
            return Error{graph.name + ": replay: a constant of the wrong size"};
        const at::Tensor host = at::empty({room}, c10::TensorOptions().dtype(c10::ScalarType::Byte));
        if (!bytes.empty()) std::memcpy(host.storage().mutable_data(), bytes.data(), bytes.size());
        operands.place(tensor, on_host[tensor] ? host.storage() : host.to(device.device()).storage());
        std::string().swap(bytes);
    }
    for (TensorId tensor : graph.tensors.ids()) {
        if (resident[tensor] && looked_at[tensor] && graph.tensors[tensor].kind != TensorKind::input &&
            !operands.holds(tensor)) {
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
        if (!loss.valid() || id < loss) forward_random = static_cast<int>(random_ops.size());
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
        if (input.scalar_type() != expected.dtype || input.sizes() != c10::IntArrayRef(expected.sizes)) {
            return Error{"input " + std::to_string(i) + " is " +
                         shape_text(input.scalar_type(), input.sizes()) + ", the graph takes " +
                         shape_text(expected.dtype, expected.sizes)};
        }
        if (input.device() != device.device()) {
            return Error{"input " + std::to_string(i) + " is on " + input.device().str() +
                         ", the step runs on " + device.device().str()};
        }
        if (!lies_as(input, expected)) {
            return Error{"input " + std::to_string(i) +
                         " lies differently in memory than the graph's: its strides are " +
                         c10::str(input.strides()) + ", the graph takes " +
                         c10::str(c10::IntArrayRef(expected.strides))};
        }
        const auto skipped = input.storage_offset() * static_cast<std::int64_t>(input.element_size());
        const std::int64_t bytes = std::min(graph.tensors[expected.tensor].bytes.value,
                                            static_cast<std::int64_t>(input.storage().nbytes()) - skipped);
        const bool whole = skipped == 0 && static_cast<std::int64_t>(input.storage().nbytes()) == bytes;
        operands.place(expected.tensor, whole ? input.storage() : part_of_storage(input, bytes));
    }
    return {};
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

/// Runs the steps up to `end`, then `then`. After an error the step is forgotten.
template <class Work>
Result<void> Executor::State::play(std::size_t end, Work&& then) {
    BelowAutograd below;
    try {
        const StepMemory::Scope scope(in_memory ? memory.get() : nullptr);
        for (; at < end; ++at) options.time_ops ? run_timed(steps[at]) : run_step(steps[at]);
        then();
        return {};
    } catch (const std::exception& error) {
        waiting = false;
        drop_all();
        const std::string where = at < end && steps[at].runs() ? label(graph, steps[at].op()) + ": " : "";
        return Error{"step " + std::to_string(at) + ": " + where + one_line(error)};
    }
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

Result<Executor> Executor::create(const Graph& graph, Tape tape, const std::vector<NamedTensor>& tensors,
                                  const std::string& owner, DeviceRuntime& device) {
    auto state = std::make_unique<State>(graph, std::move(tape), device);
    state->owner = owner;
    if (Result<void> same = state->check_device(); !same) return same.error();
    if (Result<void> inside = state->check_geometry(); !inside) return inside.error();
    if (Result<void> bound = state->bind(tensors); !bound) return bound.error();
    if (Result<void> placed = state->place_constants(); !placed) return placed.error();
    if (Result<void> prepared = state->prepare(); !prepared) return prepared.error();
    return Executor(std::move(state));
}

Result<Executor> Executor::create(const Graph& graph, Tape tape, const Model& model, DeviceRuntime& device) {
    return create(graph, std::move(tape), model.tensors, model.file_name, device);
}

Result<Executor> Executor::create(const Graph& graph, const std::vector<NamedTensor>& tensors,
                                  const std::string& owner, DeviceRuntime& device) {
    if (!graph.replay && graph.provenance && graph.provenance->value("captured", "") == "from shapes")
        return Error{graph.name + ": captured from shapes for " + graph.provenance->value("device", "") +
                     ", for planning only: kernels and workspaces are modelled; capture on the device, with "
                     "--from-shapes where the step does not fit, and solve again"};
    if (!graph.replay)
        return Error{graph.name + ": the graph holds nothing to replay; it was not captured from a model"};
    Result<Tape> tape = tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size());
    if (!tape) return tape.error();
    return create(graph, tape.take(), tensors, owner, device);
}

Result<Executor> Executor::create(const Graph& graph, const Model& model, DeviceRuntime& device) {
    return create(graph, model.tensors, model.file_name, device);
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
