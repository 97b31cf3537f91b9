#include "runtime/capture/added_ops.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>

namespace rematlas {

Argument tensor_argument(int operand) {
    return {Argument::Kind::tensor, {}, {operand}};
}

Argument tensors_argument(std::vector<int> operands) {
    return {Argument::Kind::tensors, {}, std::move(operands)};
}

Argument value_argument(c10::IValue value) {
    return {Argument::Kind::value, std::move(value), {}};
}

AddedOps::AddedOps(CapturedStep& step, const DeviceRuntime& device)
    : graph_(step.graph), tape_(step.tape), device_(device), made_by_(producers(step.graph)) {}

TensorId AddedOps::tensor_of(int operand) const {
    return tape_.operands[operand].tensor;
}

int AddedOps::add_operand(Operand operand) {
    tape_.operands.push_back(std::move(operand));
    return static_cast<int>(tape_.operands.size()) - 1;
}

int AddedOps::add_tensor(std::string name, Operand like, TensorKind kind) {
    like.offset = 0;
    const auto bytes = static_cast<std::int64_t>(
        at::detail::computeStorageNbytes(like.sizes, like.strides, c10::elementSize(like.dtype)));
    graph_.tensors.push_back({std::move(name), Bytes(device_.footprint(bytes)), kind});
    like.tensor = TensorId(graph_.tensors.size() - 1);
    return add_operand(std::move(like));
}

int AddedOps::add_state(const std::string& name, const Operand& like, double initial) {
    const int operand = add_tensor(name, like, TensorKind::optimizer_state);
    tape_.states.push_back({name, tape_.operands[operand], initial});
    return operand;
}

AddedOps::Added AddedOps::op_of(std::string name, std::string overload, std::string module,
                                std::vector<Argument> arguments, const std::vector<int>& returns) const {
    Added added{.op = {.name = name, .phase = Phase::optimizer, .module = std::move(module)},
                .tape = {.name = std::move(name), .overload = std::move(overload)}};
    for (const Argument& argument : arguments)
        for (int operand : argument.operands) added.op.inputs.push_back(tensor_of(operand));
    std::sort(added.op.inputs.begin(), added.op.inputs.end());
    added.tape.arguments = std::move(arguments);
    for (int made : returns) {
        added.op.outputs.push_back(tensor_of(made));
        added.tape.returns.push_back(tensor_of(made));
    }
    return added;
}

int AddedOps::add_number(std::string name, const char* op, const char* overload,
                         std::vector<Argument> arguments, const Operand& like) {
    const int made = add_tensor(std::move(name), like, TensorKind::gradient);
    added_[OpId(graph_.ops.size() - 1)].push_back(op_of(op, overload, "", std::move(arguments), {made}));
    return made;
}

void AddedOps::overwrite(int before, int after, Added& added) const {
    added.op.outputs.push_back(tensor_of(after));
    added.tape.overwrites.push_back({tensor_of(before), tensor_of(after)});
    if (made_by_of(tensor_of(before))) added.op.inplace.push_back({tensor_of(after), tensor_of(before)});
}

bool AddedOps::made_by_of(TensorId tensor) const {
    const std::size_t captured = made_by_.size();
    return tensor.index() < captured ? made_by_[tensor].valid()
                                     : graph_.tensors[tensor].kind != TensorKind::optimizer_state;
}

void AddedOps::tell(const char* name, int value, const Operand& number, OpId after) {
    const int told = add_state(name, number, 0);
    Added added = op_of("aten::copy_", "", "",
                        {tensor_argument(told), tensor_argument(value), value_argument(false)}, {});
    added.op.mutates.push_back(tensor_of(told));
    added.op.recomputable = false;
    added.tape.overwrites.push_back({tensor_of(told), TensorId()});
    added_[after].push_back(std::move(added));
}

std::vector<std::uint8_t> AddedOps::leading_to(OpId last) const {
    std::vector<std::uint8_t> leads(graph_.ops.size());
    leads[last.index()] = true;
    for (std::size_t op = last.index() + 1; op-- > 0;) {
        if (!leads[op]) continue;
        for (TensorId read : graph_.ops[OpId(op)].inputs)
            if (made_by_[read].valid()) leads[made_by_[read].index()] = true;
    }
    return leads;
}

TensorId AddedOps::end_of(OpId op) {
    const auto [end, fresh] = ends_.try_emplace(op, TensorId(graph_.tensors.size()));
    if (fresh) {
        graph_.tensors.push_back({"read:" + graph_.ops[op].name, Bytes(0), TensorKind::gradient});
        graph_.ops[op].outputs.push_back(end->second);
    }
    return end->second;
}

void AddedOps::put_in_order() {
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

}  // namespace rematlas
