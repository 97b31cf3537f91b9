#include "runtime/capture/profile_ops.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/schedule/run_sequence.h"
#include "runtime/capture/op_traits.h"
#include "runtime/replay/op_signature.h"

namespace rematlas {
namespace {

/// A single op as a step, with the tensors that it uses. Its inputs are resident.
struct Alone {
    Graph graph;
    Tape tape;
    Model operands{.file_name = "random operands"};
};

bool is(const TapeOp& op, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), std::string_view(op.name).substr(6)) != names.end();
}

/// Returns the exclusive upper bound for the integers of an argument: the size of the axis that they index.
/// If the axis is not known, returns 1, because the index zero is always in range.
std::int64_t bound_of(const Tape& tape, const TapeOp& op, std::size_t argument, std::size_t position) {
    const auto sizes = [&](std::size_t i) { return tape.operands[op.arguments[i].operands.front()].sizes; };
    const auto along = [&](std::size_t axis_argument) -> std::int64_t {
        const auto self = sizes(0);
        if (self.empty()) return 1;
        const std::int64_t axis = op.arguments[axis_argument].value.toInt();
        return self[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(self.size())
                                                      : axis)];
    };
    if (is(op, {"embedding", "embedding_renorm_", "_embedding_bag"}) && argument == 1) return sizes(0)[0];
    if (is(op, {"embedding_dense_backward"}) && argument == 1) return op.arguments[2].value.toInt();
    if (is(op,
           {"index_select", "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce",
            "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_"}) &&
        argument == 2)
        return along(1);
    if (is(op, {"index", "index_put", "index_put_", "_index_put_impl_"}) && argument == 1 &&
        position < sizes(0).size())
        return sizes(0)[position];
    if (is(op, {"nll_loss_forward", "nll_loss2d_forward", "multi_margin_loss"}) && argument == 1)
        return sizes(0).size() > 1 ? sizes(0)[1] : sizes(0)[0];
    if (is(op, {"nll_loss_backward", "nll_loss2d_backward", "multi_margin_loss_backward"}) && argument == 2)
        return sizes(1).size() > 1 ? sizes(1)[1] : sizes(1)[0];
    return 1;
}

void fill(at::Tensor tensor, std::int64_t bound) {
    if (tensor.numel() == 0) return;
    if (tensor.is_complex()) tensor = at::view_as_real(tensor);
    if (tensor.is_floating_point()) {
        tensor.uniform_(0.0, 1.0);
    } else {
        tensor.random_(0, tensor.scalar_type() == c10::ScalarType::Bool ? 2 : bound);
    }
}

class Isolation {
  public:
    Isolation(const CapturedStep& step, DeviceRuntime& device, const std::map<TensorId, c10::Storage>& there)
        : step_(step), device_(device), there_(there) {}

    Alone isolate(OpId id) {
        alone_ = {};
        local_.clear();
        written_ = {step_.graph.ops[id].mutates.begin(), step_.graph.ops[id].mutates.end()};
        for (const Overwrite& overwrite : step_.tape.ops[id].overwrites) written_.insert(overwrite.before);
        TapeOp op = step_.tape.ops[id];
        op.guard.reset();  // would fail on random operands
        for (std::size_t i = 0; i < op.arguments.size(); ++i)
            for (std::size_t j = 0; j < op.arguments[i].operands.size(); ++j)
                bring(op.arguments[i].operands[j], bound_of(step_.tape, step_.tape.ops[id], i, j));
        for (int& counter : op.counters) counter = operand_of_.at(counter);
        if (op.skips != no_operand) op.skips = operand_of_.at(op.skips);
        Op plain{.name = step_.graph.ops[id].name, .random = step_.graph.ops[id].random};
        for (const Tensor& tensor : alone_.graph.tensors)
            plain.inputs.push_back(TensorId(&tensor - &*alone_.graph.tensors.begin()));
        // The op writes over these tensors in place, as in a step without recomputation.
        for (Overwrite& overwrite : op.overwrites) {
            overwrite = {local_.at(overwrite.before), TensorId()};
            plain.mutates.push_back(overwrite.before);
        }
        for (TensorId& made : op.returns) {
            if (!made.valid()) continue;
            alone_.graph.tensors.push_back(step_.graph.tensors[made]);
            made = TensorId(alone_.graph.tensors.size() - 1);
            plain.outputs.push_back(made);
            alone_.graph.results.push_back(made);
        }
        alone_.graph.name = plain.name;
        alone_.graph.ops.push_back(std::move(plain));
        alone_.tape.ops.push_back(std::move(op));
        return std::move(alone_);
    }

  private:
    /// Adds an operand to the tape of the single op, and fills its tensor.
    void bring(int& index, std::int64_t bound) {
        if (index == no_operand) return;
        Operand operand = step_.tape.operands[index];
        if (operand.tensor.valid()) operand.tensor = tensor(operand, bound);
        const int original = std::exchange(index, static_cast<int>(alone_.tape.operands.size()));
        operand_of_[original] = index;
        alone_.tape.operands.push_back(std::move(operand));
    }

    TensorId tensor(const Operand& operand, std::int64_t bound) {
        const auto [entry, fresh] = local_.try_emplace(operand.tensor, TensorId(alone_.graph.tensors.size()));
        if (!fresh) return entry->second;
        Tensor copy = step_.graph.tensors[operand.tensor];
        copy.kind = TensorKind::buffer;
        copy.name = "operand" + std::to_string(entry->second.value);
        const c10::Device device = operand.on_host ? c10::Device(c10::DeviceType::CPU) : device_.device();
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(device);
        at::Tensor bytes = read_in_place(operand.tensor, copy.bytes.value, options);
        if (!bytes.defined()) {
            bytes = at::empty({copy.bytes.value}, options);
            const auto whole = copy.bytes.value / static_cast<std::int64_t>(c10::elementSize(operand.dtype)) *
                               static_cast<std::int64_t>(c10::elementSize(operand.dtype));
            fill(bytes.narrow(0, 0, whole).view(operand.dtype), bound);
        }
        alone_.tape.bindings.push_back({copy.name,
                                        false,
                                        {.tensor = entry->second,
                                         .dtype = c10::ScalarType::Byte,
                                         .sizes = {copy.bytes.value},
                                         .strides = {1},
                                         .on_host = operand.on_host}});
        alone_.operands.tensors.push_back({copy.name, bytes, false});
        alone_.graph.tensors.push_back(std::move(copy));
        return entry->second;
    }

    /// If the tensor is on the device already and the op does not write to it, returns a tensor of bytes that
    /// shares its memory. Otherwise returns an undefined tensor.
    at::Tensor read_in_place(TensorId tensor, std::int64_t bytes, const c10::TensorOptions& options) const {
        const auto found = there_.find(tensor);
        if (found == there_.end() || written_.contains(tensor)) return {};
        const c10::Storage& storage = found->second;
        if (storage.device() != options.device() || static_cast<std::int64_t>(storage.nbytes()) < bytes)
            return {};
        at::Tensor view = at::empty({0}, options);
        view.set_(storage, 0, {bytes}, {1});
        return view;
    }

    const CapturedStep& step_;
    DeviceRuntime& device_;
    const std::map<TensorId, c10::Storage>& there_;
    std::set<TensorId> written_;
    Alone alone_;
    std::map<TensorId, TensorId> local_;
    std::map<int, int> operand_of_;
};

struct Measured {
    Nanoseconds time{1};
    Bytes workspace;
    std::optional<std::int64_t> draws;
};

Result<Measured> measure(Alone alone, DeviceRuntime& device, const ProfileOptions& options) {
    Result<Executor> executor = Executor::create(alone.graph, std::move(alone.tape), alone.operands.tensors,
                                                 alone.graph.name, device);
    if (!executor) return executor.error();
    alone.operands.tensors.clear();
    const FlatGraph flat = flatten(alone.graph);
    const auto before = device.generator_state();
    const Result<Replayed> first = executor->run(lower(flat, keep_all_sequence(flat)), {});
    if (!first) return first.error();
    Measured measured;
    const bool by_values = device.device().is_cpu() && draws_by_values(alone.graph.ops[OpId(0)].name);
    if (alone.graph.ops[OpId(0)].random && !by_values)
        measured.draws = before->distance_to(*device.generator_state());
    if (Result<void> profiled = profile(alone.graph, *executor, {}, options); !profiled)
        return profiled.error();
    measured.time = alone.graph.ops[OpId(0)].time;
    measured.workspace = alone.graph.ops[OpId(0)].workspace;
    return measured;
}

}  // namespace

Result<void> profile_ops(CapturedStep& step, DeviceRuntime& device, const ProfileOptions& options,
                         const std::map<TensorId, c10::Storage>& there) {
    std::map<std::string, std::vector<OpId>> alike;
    for (OpId id : step.graph.ops.ids()) alike[signature_of(step.tape, id)].push_back(id);
    ProfileOptions each = options;
    each.progress = {};
    each.time = options.time / static_cast<double>(alike.size());
    Isolation isolation(step, device, there);
    std::size_t done = 0;
    for (const auto& [signature, ids] : alike) {
        const OpId id = ids.front();
        // The caller's loss is not timed. An op whose result size depends on the values of its operands is
        // not timed either: random values would give another size, and a capture from shapes knows only the
        // values of small tensors.
        Measured measured;
        if (step.tape.ops[id].name != output_gradients_op && step.tape.ops[id].result_sizes.empty()) {
            Result<Measured> result = Error{};
            try {
                result = measure(isolation.isolate(id), device, each);
            } catch (const std::exception& error) {
                result = Error{one_line(error)};
            }
            if (!result) {
                const Op& op = step.graph.ops[id];
                const std::string& why = result.error().message;
                const bool is_short_of_memory = why.find(" bytes are missing ") != std::string::npos;
                return Error{step.graph.name + ": " + op.name +
                             (op.module.empty() ? "" : " in " + op.module) +
                             (is_short_of_memory ? " is timed alone, for which there is no room: "
                                                 : " fails on random operands: ") +
                             why};
            }
            measured = *result;
        }
        for (OpId same : ids) {
            step.graph.ops[same].time = measured.time;
            step.graph.ops[same].workspace = measured.workspace;
            step.tape.ops[same].draws = measured.draws;
        }
        if (options.progress) options.progress(double(++done) / static_cast<double>(alike.size()));
    }
    return {};
}

}  // namespace rematlas
