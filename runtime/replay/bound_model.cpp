#include "runtime/replay/bound_model.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "runtime/dispatch/collectives.h"
#include "runtime/replay/step_transfers.h"
#include "runtime/torch_versions/running_version.h"

namespace rematlas {
namespace {

/// The workspace of the libraries may differ from the captured workspace by this many bytes. If the libraries
/// run with other settings, their workspace differs by more.
constexpr std::int64_t workspace_tolerance = std::int64_t{1} << 20;

std::string shape_text(c10::ScalarType dtype, c10::IntArrayRef sizes) {
    return to_string(InputSpec{.dtype = dtype, .sizes = sizes.vec(), .bound = {}});
}

/// Makes a storage that consists of a part of the tensor's storage. The new storage keeps the tensor alive.
c10::Storage part_of_storage(const at::Tensor& tensor, std::int64_t begin, std::int64_t bytes) {
    auto* owner = new at::Tensor(tensor);
    return c10::Storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                        c10::DataPtr(
                            static_cast<char*>(const_cast<void*>(tensor.storage().data())) + begin, owner,
                            [](void* context) { delete static_cast<at::Tensor*>(context); }, tensor.device()),
                        nullptr, false);
}

}  // namespace

bool lies_as(const at::Tensor& tensor, c10::IntArrayRef strides) {
    for (std::int64_t axis = 0; axis < tensor.dim(); ++axis)
        if (tensor.size(axis) > 1 && tensor.stride(axis) != strides[axis]) return false;
    return true;
}

/// Checks that the graph was captured for this device, with this version of torch and with these settings.
/// The ops and the bytes of the tensors depend on the kind of device. The kernels, their random numbers and
/// the memory that libraries hold depend on the type of GPU.
Result<void> BoundModel::check_device() {
    const Device mine = device.description();
    const auto fail = [&](const std::string& then, const std::string& now) {
        return Error{graph.name + ": the graph was captured " + then + " and cannot run " + now};
    };
    if (graph.device && !graph.device->kind.empty() && graph.device->kind != mine.kind)
        return fail("for " + graph.device->kind, "on " + mine.kind);
    const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json& origin = graph.provenance ? *graph.provenance : none;
    if (!origin.is_object() || !origin.contains("multiprocessors")) return {};
    if (graph.device && graph.device->name != mine.name)
        return fail("on " + graph.device->name, "on " + mine.name + "; capture it there");
    if (origin["multiprocessors"] != device.multiprocessors())
        return fail("on a GPU of " + origin["multiprocessors"].dump() + " multiprocessors",
                    "on one of " + std::to_string(device.multiprocessors()) + "; capture it there");
    const std::string& mine_torch = running_torch_version();
    if (origin.value("torch", mine_torch) != mine_torch)
        return fail("with torch " + origin.value("torch", std::string()),
                    "with torch " + mine_torch + "; capture it again");
    for (const Tensor& tensor : graph.tensors) {
        if (tensor.name != library_workspace_name) continue;
        // A smaller workspace is an error only in a process of Rematlas' own. In another process, libraries
        // may have allocated their workspace before Rematlas could measure it.
        const std::int64_t more = device.library_workspace() - tensor.bytes.value;
        if (more > workspace_tolerance || (device.measures_unseen() && more < -workspace_tolerance))
            return fail("with " + std::to_string(tensor.bytes.value) + " bytes of workspace of libraries",
                        "with " + std::to_string(device.library_workspace()) +
                            " (CUBLAS_WORKSPACE_CONFIG); capture it again");
    }
    if (origin.contains("settings") && device.settings()) settings_ = settings_from(origin["settings"]);
    if (Result<void> same = check_settings(); !same) return same;
    const std::string workspace = device.product_workspace();
    if (origin.value("cublas_workspace_config", workspace) != workspace)
        return fail("with CUBLAS_WORKSPACE_CONFIG " + origin.value("cublas_workspace_config", std::string()),
                    "with " + workspace + "; set it as it was, or capture it again");
    return {};
}

Result<void> BoundModel::check_settings() const {
    if (!settings_) return {};
    const auto differs = difference(*settings_, *device.settings());
    if (!differs) return {};
    return Error{graph.name + ": " + *differs + ": the plan is one of other kernels"};
}

/// Checks that no operand reaches beyond its storage, so that a damaged file cannot make kernels read
/// foreign memory.
Result<void> BoundModel::check_geometry() const {
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

Result<void> BoundModel::check_bound(std::size_t index) const {
    const Binding& binding = tape.bindings[index];
    const at::Tensor& tensor = bound[index];
    const Operand& expected = binding.operand;
    const auto fail = [&](const std::string& why) {
        return Error{owner + ": " + (binding.is_parameter ? "parameter " : "buffer ") + binding.name + why};
    };
    if (tensor.scalar_type() != expected.dtype || tensor.sizes() != c10::IntArrayRef(expected.sizes)) {
        return fail(" is " + shape_text(tensor.scalar_type(), tensor.sizes()) +
                    ", the graph was captured with " + shape_text(expected.dtype, expected.sizes));
    }
    if (tensor.device() != place_of(expected))
        return fail(" is on " + tensor.device().str() + ", the step runs on " + device.device().str());
    if (!lies_as(tensor, expected.strides) || tensor.storage_offset() != expected.offset ||
        device.footprint(static_cast<std::int64_t>(tensor.storage().nbytes())) !=
            graph.tensors[expected.tensor].bytes.value) {
        return fail(" lies differently in memory than when the graph was captured");
    }
    return {};
}

Result<void> BoundModel::bind_names(const std::vector<NamedTensor>& tensors) {
    std::unordered_map<std::string, const at::Tensor*> by_name;
    for (const NamedTensor& named : tensors) by_name.emplace(named.name, &named.tensor);
    for (const Binding& binding : tape.bindings) {
        const auto found = by_name.find(binding.name);
        if (found == by_name.end())
            return Error{owner + ": the model has no " + (binding.is_parameter ? "parameter " : "buffer ") +
                         binding.name + ", which the graph was captured with"};
        bound.push_back(*found->second);
        if (Result<void> fits = check_bound(bound.size() - 1); !fits) return fits.error();
        by_name.erase(found);
    }
    if (!by_name.empty())
        return Error{owner + ": the graph was captured without " + by_name.begin()->first +
                     ", which the model has"};
    return {};
}

Result<void> BoundModel::rebind(const std::vector<at::Tensor>& tensors) {
    if (tensors.size() != bound.size())
        return Error{owner + ": " + std::to_string(tensors.size()) +
                     " parameters and buffers, the plan has " + std::to_string(bound.size())};
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!bound[i].is_same(tensors[i])) bound[i] = tensors[i];
    return {};
}

/// Checks all storages in each call, because the caller may have exchanged some since the previous call.
Result<void> BoundModel::place_bound(OperandTable& operands) const {
    for (std::size_t i = 0; i < bound.size(); ++i) {
        if (Result<void> fits = check_bound(i); !fits) return fits.error();
        const TensorId tensor = tape.bindings[i].operand.tensor;
        if (!operands.holds(tensor) ||
            bound[i].storage().unsafeGetStorageImpl() != operands.storage(tensor).unsafeGetStorageImpl())
            operands.place(tensor, bound[i].storage());
    }
    for (std::size_t i = 0; i < states.size(); ++i)
        operands.place(tape.states[i].operand.tensor, states[i].storage());
    return {};
}

Result<void> BoundModel::make_states() {
    for (const StateTensor& state : tape.states) {
        const Operand& like = state.operand;
        const auto options = c10::TensorOptions().dtype(like.dtype).device(place_of(like));
        try {
            states.push_back(at::empty_strided(like.sizes, like.strides, options).fill_(state.initial));
        } catch (const std::exception& error) {
            return Error{graph.name + ": replay: " + state.name + ": " + one_line(error)};
        }
    }
    return check_states();
}

Result<void> BoundModel::check_states() const {
    for (std::size_t i = 0; i < states.size(); ++i) {
        const Operand& like = tape.states[i].operand;
        const auto bytes = static_cast<std::int64_t>(states[i].storage().nbytes());
        if (states[i].scalar_type() != like.dtype || states[i].sizes() != c10::IntArrayRef(like.sizes) ||
            !lies_as(states[i], like.strides) || states[i].device() != place_of(like) || like.offset != 0 ||
            states[i].storage_offset() != 0 || !resident[like.tensor] ||
            device.footprint(bytes) != graph.tensors[like.tensor].bytes.value)
            return Error{owner + ": " + tape.states[i].name +
                         " of the optimizer is not what the step was captured with"};
    }
    return {};
}

Result<void> BoundModel::rebind_states(std::vector<at::Tensor> tensors) {
    if (tensors.size() != tape.states.size())
        return Error{owner + ": " + std::to_string(tensors.size()) +
                     " states of the optimizer, the plan has " + std::to_string(tape.states.size())};
    states = std::move(tensors);
    return check_states();
}

/// Checks that the tensors of an optimizer's fused op have the same layout. Such an op looks at the layout of
/// the first tensor only, but reads and writes all tensors.
void check_alike(const Tape& tape, const TapeOp& op) {
    const Operand* first = nullptr;
    for (const Argument& argument : op.arguments) {
        if (argument.kind != Argument::Kind::tensors || argument.operands.empty()) continue;
        TORCH_CHECK(argument.operands.size() == 1 && argument.operands.front() != no_operand,
                    "takes one parameter at a time");
        const Operand& operand = tape.operands[argument.operands.front()];
        if (!first) first = &operand;
        if (std::find(op.counters.begin(), op.counters.end(), argument.operands.front()) !=
            op.counters.end()) {
            TORCH_CHECK(operand.sizes.empty() && operand.dtype == c10::ScalarType::Float,
                        "it counts in what is no f32 number");
        } else {
            TORCH_CHECK(operand.sizes == first->sizes && lies_as(operand, first->strides) &&
                            operand.dtype == first->dtype,
                        "its tensors lie differently in memory");
        }
    }
}

/// Makes the constants. Fails if an op accesses a resident tensor that is neither bound, nor a state of the
/// optimizer, nor an input, nor a constant.
Result<void> BoundModel::make_constants() {
    IdVector<TensorId, std::uint8_t> on_host(graph.tensors.size(), 0), looked_at = on_host, known = on_host;
    for (const Operand& operand : tape.operands) {
        if (!operand.tensor.valid()) continue;
        on_host[operand.tensor] |= operand.on_host;
        looked_at[operand.tensor] = true;
    }
    for (const BufferUpdate& update : tape.updates) looked_at[update.buffer] = true;
    for (const TapeOp& op : tape.ops)
        for (const Overwrite& overwrite : op.overwrites) looked_at[overwrite.before] = true;
    for (const Binding& binding : tape.bindings) known[binding.operand.tensor] = true;
    for (const StateTensor& state : tape.states) known[state.operand.tensor] = true;
    for (auto& [tensor, bytes] : tape.constants) {
        const std::int64_t room = graph.tensors[tensor].bytes.value;
        if (device.footprint(static_cast<std::int64_t>(bytes.size())) != room)
            return Error{graph.name + ": replay: a constant of the wrong size"};
        const at::Tensor host = at::empty({room}, c10::TensorOptions().dtype(c10::ScalarType::Byte));
        if (!bytes.empty()) std::memcpy(host.storage().mutable_data(), bytes.data(), bytes.size());
        constants_.emplace_back(tensor,
                                on_host[tensor] ? host.storage() : host.to(device.device()).storage());
        known[tensor] = true;
        std::string().swap(bytes);
    }
    for (TensorId tensor : graph.tensors.ids()) {
        if (resident[tensor] && looked_at[tensor] && graph.tensors[tensor].kind != TensorKind::input &&
            !known[tensor]) {
            return Error{graph.name + ": replay: nothing says what is in " + graph.tensors[tensor].name};
        }
    }
    return {};
}

void BoundModel::place_constants(OperandTable& operands) const {
    for (const auto& [tensor, storage] : constants_) operands.place(tensor, storage);
}

/// Says whether the op's first run updates the operand's resident tensor. If so, reruns do not get the tensor
/// (see Overwrite).
bool BoundModel::updates_for_good(const TapeOp& op, int operand) const {
    return operand != no_operand &&
           std::any_of(op.overwrites.begin(), op.overwrites.end(), [&](const Overwrite& overwrite) {
               return !overwrite.after.valid() && overwrite.before == tape.operands[operand].tensor;
           });
}

PreparedOp BoundModel::prepare(OpId id) {
    const TapeOp& op = tape.ops[id];
    PreparedOp prepared;
    TORCH_CHECK(op.draws.value_or(0) >= 0 || !device.device().is_cpu(), "a negative number of draws");
    if (graph.ops[id].random) {
        prepared.turn = static_cast<int>(random_ops.size());
        random_ops.push_back(id);
        if (!loss.valid() || id < loss) forward_random = static_cast<int>(random_ops.size());
    }
    guarded = guarded || op.guard.has_value() || !op.result_sizes.empty();
    if (op.name == output_gradients_op) {
        const bool complete =
            op.arguments.size() == 2 && op.arguments[1].operands.size() == op.returns.size() &&
            std::all_of(op.returns.begin(), op.returns.end(), [](TensorId id) { return id.valid(); });
        TORCH_CHECK(complete, "does not say what it makes");
        return prepared;
    }
    TORCH_CHECK(
        op.name != recorded_update_op,
        "stands for updates that were recorded from shapes, for planning only: plan without an optimizer, "
        "or with a fused one, whose updates run by a plan");
    if (op.name.starts_with("aten::_fused_adam") || op.name.starts_with("aten::_fused_sgd"))
        check_alike(tape, op);
    prepared.handle = c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload.c_str());
    prepared.is_collective = is_collective(op.name);
    TORCH_CHECK(prepared.handle->schema().arguments().size() == op.arguments.size(), op.name,
                " takes another number of arguments in this libtorch");
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
        const Argument& argument = op.arguments[i];
        if (argument.kind == Argument::Kind::tensor && updates_for_good(op, argument.operands.front()))
            prepared.statistics.push_back(i);
        if (argument.kind != Argument::Kind::tensor &&
            (argument.kind != Argument::Kind::value || argument.value.isList()))
            prepared.lists.push_back(i);
    }
    return prepared;
}

torch::jit::Stack BoundModel::arguments_of(OpId id, const OperandTable& operands) const {
    return arguments_of(id, [&](int operand) { return operands[operand]; });
}

torch::jit::Stack BoundModel::arguments_of(OpId id, const std::function<at::Tensor(int)>& tensor_of) const {
    const auto tensor = [&](int operand) {
        return operand == no_operand ? at::Tensor() : tensor_of(operand);
    };
    torch::jit::Stack stack;
    if (!ops[id].handle) return stack;
    for (const Argument& argument : tape.ops[id].arguments) {
        switch (argument.kind) {
            case Argument::Kind::value:
                stack.push_back(argument.value);
                break;
            case Argument::Kind::tensor:
                stack.emplace_back(tensor(argument.operands.front()));
                break;
            case Argument::Kind::tensors: {
                c10::List<at::Tensor> list;
                for (int operand : argument.operands) list.push_back(tensor(operand));
                stack.emplace_back(std::move(list));
                break;
            }
            case Argument::Kind::optional_tensors: {
                c10::List<std::optional<at::Tensor>> list;
                for (int operand : argument.operands)
                    list.push_back(operand == no_operand ? std::nullopt : std::optional(tensor_of(operand)));
                stack.emplace_back(std::move(list));
                break;
            }
        }
    }
    return stack;
}

Result<void> BoundModel::prepare() {
    for (OpId op : graph.ops.ids()) {
        try {
            ops.push_back(prepare(op));
        } catch (const std::exception& error) {
            return Error{graph.name + ": " + label(op) + ": " + one_line(error)};
        }
    }
    return {};
}

Result<void> BoundModel::place_inputs(OperandTable& operands, const std::vector<at::Tensor>& inputs) const {
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
        if (input.device() != place_of(expected)) {
            return Error{"input " + std::to_string(i) + " is on " + input.device().str() +
                         ", when the step was captured it was on " + place_of(expected).str()};
        }
        if (!lies_as(input, expected.strides)) {
            return Error{"input " + std::to_string(i) +
                         " lies differently in memory than the graph's: its strides are " +
                         c10::str(input.strides()) + ", the graph takes " +
                         c10::str(c10::IntArrayRef(expected.strides))};
        }
        const auto item = static_cast<std::int64_t>(input.element_size());
        const std::int64_t begin = (input.storage_offset() - expected.offset) * item;
        const auto room = static_cast<std::int64_t>(input.storage().nbytes());
        const std::int64_t bytes = std::min(graph.tensors[expected.tensor].bytes.value, room - begin);
        if (begin < 0)
            return Error{"input " + std::to_string(i) +
                         " begins where the graph's lies further inside its memory"};
        operands.place(expected.tensor,
                       begin == 0 && room == bytes ? input.storage() : part_of_storage(input, begin, bytes));
    }
    return {};
}

std::int64_t BoundModel::draws_before(int turn) const {
    return std::accumulate(random_ops.begin(), random_ops.begin() + turn, std::int64_t{0},
                           [&](std::int64_t sum, OpId op) { return sum + tape.ops[op].draws.value(); });
}

std::string BoundModel::label(OpId op) const {
    const Op& info = graph.ops[op];
    return "op " + std::to_string(op.value) + " " + info.name +
           (info.module.empty() ? "" : " in " + info.module);
}

BoundModel::BoundModel(const Graph& graph, Tape tape, const std::string& owner, DeviceRuntime& device)
    : graph(graph),
      tape(std::move(tape)),
      device(device),
      owner(owner),
      resident(graph.tensors.size(), 1),
      links(std::make_unique<StepLinks>()) {
    for (const Op& op : graph.ops)
        for (TensorId out : op.outputs) resident[out] = 0;
    for (TensorId tensor : graph.tensors.ids())
        if (resident[tensor]) resident_bytes += graph.tensors[tensor].bytes.value;
    for (OpId op : graph.ops.ids())
        if (this->tape.ops[op].name == output_gradients_op) loss = op;
}

BoundModel::~BoundModel() = default;

Result<std::unique_ptr<BoundModel>> BoundModel::bind(const Graph& graph, Tape tape,
                                                     const std::vector<NamedTensor>& tensors,
                                                     const std::string& owner, DeviceRuntime& device,
                                                     std::vector<at::Tensor> states) {
    std::unique_ptr<BoundModel> model(new BoundModel(graph, std::move(tape), owner, device));
    if (Result<void> same = model->check_device(); !same) return same.error();
    if (Result<void> inside = model->check_geometry(); !inside) return inside.error();
    if (Result<void> bound = model->bind_names(tensors); !bound) return bound.error();
    const Result<void> kept = states.empty() ? model->make_states() : model->rebind_states(std::move(states));
    if (!kept) return kept.error();
    if (Result<void> made = model->make_constants(); !made) return made.error();
    if (Result<void> prepared = model->prepare(); !prepared) return prepared.error();
    return model;
}

}  // namespace rematlas
