#include "runtime/capture/recording.h"

#include <algorithm>
#include <bit>

namespace rematlas {
namespace {

bool same_value(const c10::IValue& a, const c10::IValue& b) {
    if (a.isDouble() && b.isDouble())
        return std::bit_cast<std::uint64_t>(a.toDouble()) == std::bit_cast<std::uint64_t>(b.toDouble());
    if (a.isList() && b.isList()) {
        const auto left = a.toListRef(), right = b.toListRef();
        if (left.size() != right.size()) return false;
        for (std::size_t i = 0; i < left.size(); ++i)
            if (!same_value(left[i], right[i])) return false;
        return true;
    }
    return a.tagKind() == b.tagKind() && c10::str(a) == c10::str(b);
}

std::string name_of(const RecordedOp& op) {
    return op.tape.name + (op.phase == Phase::backward ? " in the backward pass" : "") +
           (op.module.empty() ? "" : (op.phase == Phase::backward ? " of " : " in ") + op.module);
}

bool same_overwrites(const TapeOp& a, const TapeOp& b) {
    if (a.overwrites.size() != b.overwrites.size()) return false;
    for (std::size_t i = 0; i < a.overwrites.size(); ++i)
        if (a.overwrites[i].before != b.overwrites[i].before ||
            a.overwrites[i].after != b.overwrites[i].after)
            return false;
    return true;
}

std::optional<std::string> op_difference(const RecordedOp& a, const RecordedOp& b) {
    if (a.tape.name != b.tape.name || a.tape.overload != b.tape.overload || a.module != b.module ||
        a.phase != b.phase)
        return name_of(a) + " in one step, " + name_of(b) + " in the next: the program takes another course";
    if (a.tape.guard.has_value() != b.tape.guard.has_value() || a.dropped != b.dropped)
        return name_of(a) + " depends on the data in one step and not in the next";
    if (a.tape.guard && !same_value(a.tape.guard->value, b.tape.guard->value))
        return name_of(a) + (a.tape.guard->line.empty() ? "" : " at " + a.tape.guard->line) +
               ": the program reads a value, " + c10::str(a.tape.guard->value) + " in one step and " +
               c10::str(b.tape.guard->value) + " in the next";
    if (a.tape.result_sizes != b.tape.result_sizes)
        return name_of(a) +
               ": the shape of its result depends on the data, and is another one in the next step";
    if (a.tape.arguments.size() != b.tape.arguments.size() || a.tape.returns != b.tape.returns ||
        !same_overwrites(a.tape, b.tape) || a.tape.grad_mode != b.tape.grad_mode)
        return name_of(a) + " is called in two ways in two steps";
    for (std::size_t i = 0; i < a.tape.arguments.size(); ++i) {
        const Argument &left = a.tape.arguments[i], &right = b.tape.arguments[i];
        if (left.kind != right.kind || left.operands != right.operands)
            return name_of(a) + " takes other tensors in the next step";
        if (left.kind == Argument::Kind::value && !same_value(left.value, right.value))
            return name_of(a) + " takes " + c10::str(left.value) + " in one step and " +
                   c10::str(right.value) +
                   " in the next: a number of the program changes (pass it as a tensor)";
    }
    return std::nullopt;
}

std::string text_of(const Operand& operand) {
    std::string place;
    if (operand.offset != 0)
        place = " from element " + std::to_string(operand.offset) +
                " of its memory on (a slice, of which a copy, "
                "`tensor.clone()`, would lie alike in each step)";
    return c10::str(operand.dtype, c10::IntArrayRef(operand.sizes), " with strides ",
                    c10::IntArrayRef(operand.strides), place);
}

/// Says in words what the operand is in the recording: an argument of some op (the first that takes it); if
/// no op takes it, a gradient or an output.
std::string role_of(const Recording& recording, int operand) {
    for (const RecordedOp& op : recording.ops)
        for (const Argument& argument : op.tape.arguments)
            if (std::find(argument.operands.begin(), argument.operands.end(), operand) !=
                argument.operands.end())
                return "an argument of " + name_of(op);
    for (const GradientOf& gradient : recording.gradients)
        if (gradient.operand == operand) return "the gradient of " + gradient.parameter;
    return "an output";
}

/// Describes the first operand whose geometry differs.
std::string geometry_difference(const Recording& a, const Recording& b) {
    for (std::size_t i = 0; i < std::min(a.operands.size(), b.operands.size()); ++i) {
        const Operand &one = a.operands[i], &other = b.operands[i];
        if (one == other) continue;
        return c10::str(role_of(a, static_cast<int>(i)), " is a tensor of ", text_of(one),
                        " in one step, and of ", text_of(other), " in the next");
    }
    return "tensors have other shapes in the next step";
}

}  // namespace

std::optional<std::string> difference(const Recording& a, const Recording& b) {
    const std::size_t both = std::min(a.ops.size(), b.ops.size());
    for (std::size_t i = 0; i < both; ++i)
        if (auto what = op_difference(a.ops[i], b.ops[i])) return what;
    if (a.ops.size() != b.ops.size())
        return name_of(a.ops.size() > both ? a.ops[both] : b.ops[both]) +
               " runs in one step and not in the other: the program takes another course";
    if (a.operands != b.operands || a.values.size() != b.values.size()) return geometry_difference(a, b);
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const RecordedValue &left = a.values[i], &right = b.values[i];
        if (left.kind != right.kind || left.bytes != right.bytes || left.producer != right.producer ||
            left.version_of != right.version_of)
            return "tensor " + left.name + " is another one in the next step";
        if (left.contents != right.contents)
            return left.name + " of " + std::to_string(left.bytes) +
                   " bytes: a tensor that the program makes outside of torch or keeps beside its buffers has "
                   "other "
                   "contents in the next step";
    }
    if (a.outputs != b.outputs) return std::string("the outputs are other tensors in the next step");
    if (a.inputs.size() != b.inputs.size() || a.gradients.size() != b.gradients.size())
        return std::string("inputs or gradients are others in the next step");
    for (std::size_t i = 0; i < a.gradients.size(); ++i)
        if (a.gradients[i].operand != b.gradients[i].operand)
            return "the gradient of " + a.gradients[i].parameter + " is another tensor in the next step";
    return std::nullopt;
}

}  // namespace rematlas
