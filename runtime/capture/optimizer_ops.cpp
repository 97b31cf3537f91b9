#include "runtime/capture/optimizer_ops.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/MemoryFormat.h>

#include <algorithm>
#include <map>
#include <set>

namespace rematlas {
namespace {

/// Every element has a place of its own and there are no gaps.
bool is_dense(const Operand& operand) {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;
    for (std::size_t i = 0; i < operand.sizes.size(); ++i)
        if (operand.sizes[i] != 1) axes.emplace_back(operand.strides[i], operand.sizes[i]);
    std::sort(axes.begin(), axes.end());
    std::int64_t next = 1;
    for (const auto& [stride, size] : axes) {
        if (stride != next) return false;
        next *= size;
    }
    return true;
}

std::vector<std::int64_t> row_major(c10::IntArrayRef sizes) {
    std::vector<std::int64_t> strides(sizes.size(), 1);
    for (std::size_t axis = sizes.size(); axis-- > 1;)
        strides[axis - 1] = strides[axis] * std::max<std::int64_t>(sizes[axis], 1);
    return strides;
}

/// How a copy has to lie.
std::optional<c10::MemoryFormat> format_of(const Operand& operand) {
    const c10::IntArrayRef sizes(operand.sizes);
    if (lies_as(operand, row_major(sizes))) return c10::MemoryFormat::Contiguous;
    if (sizes.size() == 4 && lies_as(operand, c10::get_channels_last_strides_2d(sizes)))
        return c10::MemoryFormat::ChannelsLast;
    if (sizes.size() == 5 && lies_as(operand, c10::get_channels_last_strides_3d(sizes)))
        return c10::MemoryFormat::ChannelsLast3d;
    return std::nullopt;
}

std::string module_of(const std::string& parameter) {
    const std::size_t dot = parameter.rfind('.');
    return dot == parameter.npos ? "" : parameter.substr(0, dot);
}

class Updates {
  public:
    Updates(CapturedStep& step, const DeviceRuntime& device)
        : graph_(step.graph), tape_(step.tape), device_(device), made_by_(producers(step.graph)) {
        for (OpId op : graph_.ops.ids())
            for (TensorId read : graph_.ops[op].inputs) readers_[read].push_back(op);
    }

    Result<void> add(const OptimizerGroup& group) {
        const std::string rate = groups_++ == 0 ? "lr" : "lr." + std::to_string(groups_ - 1);
        const Operand number{.dtype = c10::ScalarType::Double, .on_host = !device_.device().is_cpu()};
        const int lr = add_state(rate, number, group.optimizer.lr);
        const std::set<std::string> named(group.parameters.begin(), group.parameters.end());
        for (GradientOf& gradient : tape_.gradients) {
            if (gradient.input >= 0 || gradient.operand == no_operand) continue;
            if (!named.empty() && !named.contains(gradient.parameter)) continue;
            if (Result<void> done = add_update(group.optimizer, gradient, lr); !done)
                return Error{"parameter " + gradient.parameter + ": " + done.error().message};
        }
        return {};
    }

    void finish() {
        std::set<TensorId> stay;
        for (int output : tape_.outputs)
            if (output != no_operand) stay.insert(tensor_of(output));
        for (const GradientOf& gradient : tape_.gradients)
            if (gradient.operand != no_operand) stay.insert(tensor_of(gradient.operand));
        for (const BufferUpdate& update : tape_.updates) stay.insert(update.contents);
        std::erase_if(graph_.results,
                      [&](TensorId result) { return used_.contains(result) && !stay.contains(result); });
        put_in_order();
    }

  private:
    struct Added {
        Op op;
        TapeOp tape;
    };
    /// A gradient as the op takes it, and the op that makes it.
    struct Given {
        int operand;
        OpId maker;
    };

    TensorId tensor_of(int operand) const { return tape_.operands[operand].tensor; }

    int add_operand(Operand operand) {
        tape_.operands.push_back(std::move(operand));
        return static_cast<int>(tape_.operands.size()) - 1;
    }

    /// A tensor of its own that is seen like this.
    int add_tensor(std::string name, Operand like, TensorKind kind) {
        like.offset = 0;
        const auto bytes = static_cast<std::int64_t>(at::detail::computeStorageNbytes(
            like.sizes, like.strides, c10::elementSize(like.dtype)));
        graph_.tensors.push_back({std::move(name), Bytes(device_.footprint(bytes)), kind});
        like.tensor = TensorId(graph_.tensors.size() - 1);
        return add_operand(std::move(like));
    }

    int add_state(const std::string& name, const Operand& like, double initial) {
        const int operand = add_tensor(name, like, TensorKind::optimizer_state);
        tape_.states.push_back({name, tape_.operands[operand], initial});
        return operand;
    }

    Result<Operand> parameter(const std::string& name) {
        const auto found =
            std::find_if(tape_.bindings.begin(), tape_.bindings.end(), [&](const Binding& binding) {
                return binding.is_parameter && binding.name == name;
            });
        if (found == tape_.bindings.end()) return Error{"the step does not know it"};
        const Operand& operand = found->operand;
        if (!c10::isFloatingType(operand.dtype))
            return Error{std::string("fused optimizers do not take the type ") + c10::toString(operand.dtype)};
        if (!is_dense(operand)) return Error{"it has gaps in memory, or elements that are the same"};
        if (!updated_.insert(operand.tensor).second)
            return Error{"it shares memory with another one that the optimizer updates"};
        for (const TapeOp& op : tape_.ops)
            for (const Overwrite& overwrite : op.overwrites)
                if (overwrite.before == operand.tensor) return Error{"the model writes to it"};
        return operand;
    }

    Result<void> add_update(const Optimizer& optimizer, GradientOf& gradient, int lr) {
        const Result<Operand> parameter = this->parameter(gradient.parameter);
        if (!parameter) return parameter.error();
        const Result<Given> given = laid_as(*parameter, gradient);
        if (!given) return given.error();
        Added added{.op = {.name = optimizer.op(),
                           .phase = Phase::optimizer,
                           .module = module_of(gradient.parameter),
                           .recomputable = false},
                    .tape = {.name = optimizer.op(), .overload = Optimizer::overload}};
        std::map<std::string, int> lists{{"self", add_operand(*parameter)}, {"grads", given->operand}};
        added.op.mutates.push_back(parameter->tensor);
        for (const OptimizerState& state : optimizer.states()) {
            const int kept = add_state(gradient.parameter + "." + state.name,
                                       state.counts_steps ? Operand{} : *parameter, state.initial);
            lists[state.argument] = kept;
            if (state.counts_steps) added.tape.counters.push_back(kept);
            added.op.mutates.push_back(tensor_of(kept));
        }
        for (TensorId written : added.op.mutates) added.tape.overwrites.push_back({written, TensorId()});
        fill_arguments(optimizer, lists, lr, added.tape);

        const OpId after = last_before(*parameter, given->maker, added.op.inputs);
        added.op.inputs.insert(added.op.inputs.end(), added.op.mutates.begin(), added.op.mutates.end());
        added.op.inputs.push_back(tensor_of(given->operand));
        added.op.inputs.push_back(tensor_of(lr));
        std::sort(added.op.inputs.begin(), added.op.inputs.end());
        used_.insert(tensor_of(gradient.operand));
        gradient.operand = no_operand;
        added_[after].push_back(std::move(added));
        return {};
    }

    static void fill_arguments(const Optimizer& optimizer, const std::map<std::string, int>& lists, int lr,
                               TapeOp& op) {
        const auto schema =
            c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload.c_str()).schema();
        for (const c10::Argument& argument : schema.arguments()) {
            const auto list = lists.find(argument.name());
            if (argument.name() == "lr")
                op.arguments.push_back({Argument::Kind::tensor, {}, {lr}});
            else if (list != lists.end())
                op.arguments.push_back({Argument::Kind::tensors, {}, {list->second}});
            else if (argument.type()->kind() == c10::TypeKind::ListType)
                op.arguments.push_back({Argument::Kind::tensors, {}, {}});
            else
                op.arguments.push_back({Argument::Kind::value, optimizer.value_of(argument.name()), {}});
        }
    }

    /// The gradient, or a copy of it that lies as the parameter does.
    Result<Given> laid_as(const Operand& parameter, const GradientOf& gradient) {
        const Operand made = tape_.operands[gradient.operand];
        const OpId maker = made_by_[made.tensor].valid() ? made_by_[made.tensor] : OpId(graph_.ops.size() - 1);
        if (lies_as(made, parameter.strides) && !made.conjugated && !made.negated)
            return Given{gradient.operand, maker};
        const auto format = format_of(parameter);
        if (!format) return Error{"its gradient lies in memory in another way, and as no copy does"};
        const int copy = add_tensor("grad:" + gradient.parameter, parameter, TensorKind::gradient);
        added_[maker].push_back(
            {.op = {.name = "aten::clone",
                    .inputs = {made.tensor},
                    .outputs = {tensor_of(copy)},
                    .phase = Phase::backward,
                    .module = module_of(gradient.parameter)},
             .tape = {.name = "aten::clone",
                      .arguments = {{Argument::Kind::tensor, {}, {gradient.operand}},
                                    {Argument::Kind::value, static_cast<std::int64_t>(*format), {}}},
                      .returns = {tensor_of(copy)}}});
        return Given{copy, maker};
    }

    /// The op behind which the update can run, in the graph's order. What reads the parameter and does not
    /// lead to the gradient hands a tensor without bytes over, so that no schedule updates it before.
    OpId last_before(const Operand& parameter, OpId maker, std::vector<TensorId>& inputs) {
        OpId last = maker;
        const std::vector<std::uint8_t> leads = leading_to(maker);
        for (OpId reader : readers_[parameter.tensor]) {
            last = std::max(last, reader);
            if (!leads[reader.index()]) inputs.push_back(end_of(reader));
        }
        return last;
    }

    /// Per op, whether the other cannot run without it.
    std::vector<std::uint8_t> leading_to(OpId last) const {
        std::vector<std::uint8_t> leads(graph_.ops.size());
        leads[last.index()] = true;
        for (std::size_t op = last.index() + 1; op-- > 0;) {
            if (!leads[op]) continue;
            for (TensorId read : graph_.ops[OpId(op)].inputs)
                if (made_by_[read].valid()) leads[made_by_[read].index()] = true;
        }
        return leads;
    }

    TensorId end_of(OpId op) {
        const auto [end, fresh] = ends_.try_emplace(op, TensorId(graph_.tensors.size()));
        if (fresh) {
            graph_.tensors.push_back({"read:" + graph_.ops[op].name, Bytes(0), TensorKind::gradient});
            graph_.ops[op].outputs.push_back(end->second);
        }
        return end->second;
    }

    void put_in_order() {
        IdVector<OpId, Op> ops;
        IdVector<OpId, TapeOp> tape;
        std::vector<OpId> moved;
        for (OpId op : graph_.ops.ids()) {
            moved.push_back(OpId(ops.size()));
            ops.push_back(std::move(graph_.ops[op]));
            tape.push_back(std::move(tape_.ops[op]));
            for (Added& added : added_[op]) {
                ops.push_back(std::move(added.op));
                tape.push_back(std::move(added.tape));
            }
        }
        for (Op& op : ops)
            if (op.of) op.of = moved[op.of->index()];
        graph_.ops = std::move(ops);
        tape_.ops = std::move(tape);
    }

    Graph& graph_;
    Tape& tape_;
    const DeviceRuntime& device_;
    IdVector<TensorId, OpId> made_by_;
    std::map<TensorId, std::vector<OpId>> readers_;
    std::set<TensorId> updated_, used_;
    std::map<OpId, TensorId> ends_;
    std::map<OpId, std::vector<Added>> added_;  ///< behind each op
    int groups_ = 0;
};

}  // namespace

Result<void> add_optimizer(CapturedStep& step, const std::vector<OptimizerGroup>& groups,
                           const DeviceRuntime& device) {
    Updates updates(step, device);
    for (const OptimizerGroup& group : groups)
        if (Result<void> added = updates.add(group); !added) return added.error();
    updates.finish();
    if (groups.size() == 1) step.tape.optimizer = groups.front().optimizer;
    return {};
}

}  // namespace rematlas
