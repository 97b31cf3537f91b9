#include <ATen/ops/empty.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "runtime/replay/executor_state.h"

namespace rematlas {
namespace {

std::string shape_text(c10::ScalarType dtype, c10::IntArrayRef sizes) {
    return to_string(InputSpec{.dtype = dtype, .sizes = sizes.vec(), .bound = {}});
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

}  // namespace

bool lies_as(const at::Tensor& tensor, const Operand& operand) {
    for (std::int64_t axis = 0; axis < tensor.dim(); ++axis)
        if (tensor.size(axis) > 1 && tensor.stride(axis) != operand.strides[axis]) return false;
    return true;
}

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

}  // namespace rematlas
