// Recognizes ops that a checkpoint recomputes in the backward.
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>

#include "runtime/capture/op_traits.h"
#include "runtime/capture/recorder.h"
#include "runtime/dispatch/stack_tensors.h"

namespace rematlas {
namespace {

/// Appends a text for the value. The texts of two values are equal exactly if the values are equal; numbers
/// are compared to the last bit.
void append(std::string& text, const c10::IValue& value) {
    if (value.isDouble()) {
        const double number = value.toDouble();
        text.append(reinterpret_cast<const char*>(&number), sizeof number);
    } else if (value.isList()) {
        for (const c10::IValue& item : value.toListRef()) append(text, item), text += ',';
    } else {
        text += c10::str(value);
    }
}

}  // namespace

/// Says whether the argument is an uninitialized tensor that the op overwrites completely. If so, the result
/// does not depend on which tensor is passed.
bool Recorder::fills_empty(const Call& call, std::size_t argument) const {
    if (!overwrites_everything(call.record.tape.name, call.record.tape.overload)) return false;
    return std::any_of(call.uses.begin(), call.uses.end(), [&](const Use& use) {
        const RecordedValue& value = recording_.values[use.value];
        return use.argument == argument && use.written && value.version_of < 0 && value.producer >= 0 &&
               makes_uninitialized(recording_.ops[value.producer].tape.name);
    });
}

std::string Recorder::shape_text(int operand) const {
    if (operand == no_operand) return "none ";
    const Operand& of = recording_.operands[operand];
    return c10::str(of.dtype, c10::IntArrayRef(of.sizes), c10::IntArrayRef(of.strides), of.offset, ' ');
}

/// Recognizes an op that a checkpoint recomputes in the backward: it has the same arguments as an earlier
/// forward op and, if it is random, the same state of the generator.
void Recorder::recognize(Call& call) {
    const TapeOp& op = call.record.tape;
    std::string what = op.name + '.' + op.overload;
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
        what += '|';
        const bool statistics = call.record.updates_statistics &&
                                std::any_of(call.uses.begin(), call.uses.end(),
                                            [&](const Use& use) { return use.argument == i && use.written; });
        if (statistics) continue;
        if (op.arguments[i].kind == Argument::Kind::value) append(what, op.arguments[i].value);
        for (int operand : op.arguments[i].operands)
            what += fills_empty(call, i) ? shape_text(operand) : std::to_string(operand) + ' ';
    }
    if (call.generator) what += '|' + std::to_string(call.generator->digest());
    if (phase_ == Phase::forward) {
        call.computes = std::move(what);
    } else if (phase_ == Phase::backward && at::GradMode::is_enabled()) {
        if (const auto found = computed_.find(what); found != computed_.end()) call.again = found->second;
    }
}

/// Gives recomputed tensors the values of the tensors that were computed first. Returns false if the two runs
/// wrote to different numbers of tensors or made storages of different sizes.
bool Recorder::take_earlier_values(const torch::jit::Stack& stack, std::size_t returns, const Call& call) {
    const RecordedOp& first = recording_.ops[*call.again];
    struct Named {
        at::Tensor tensor;
        TensorId value;
    };
    std::vector<Named> named;
    std::size_t next = 0;
    for (std::size_t i = stack.size() - returns; i < stack.size(); ++i)
        for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
            const TensorId value = next < first.tape.returns.size() ? first.tape.returns[next] : TensorId();
            ++next;
            if (value.valid() && tensor.defined()) named.push_back({tensor, value});
        });
    if (!call.record.updates_statistics) {
        std::set<int> seen;
        std::size_t overwrite = 0;
        for (const Use& use : call.uses)
            if (use.written && seen.insert(use.value).second && overwrite < first.tape.overwrites.size())
                named.push_back({use.tensor, first.tape.overwrites[overwrite++].after});
        if (overwrite != first.tape.overwrites.size()) return false;
    }
    for (const Named& one : named)
        if (recording_.values[one.value.value].bytes !=
            static_cast<std::int64_t>(one.tensor.storage().nbytes()))
            return false;
    for (const Named& one : named)
        places_.insert_or_assign(
            one.tensor.storage().unsafeGetStorageImpl(),
            Place{c10::weak_intrusive_ptr<c10::StorageImpl>(one.tensor.storage().getWeakStorageImpl()),
                  one.value.value, 0, recording_.values[one.value.value].bytes});
    return true;
}

}  // namespace rematlas
