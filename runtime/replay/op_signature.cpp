#include "runtime/replay/op_signature.h"

#include <algorithm>
#include <sstream>

namespace rematlas {
namespace {

/// The signature has the offset of each operand, in bytes modulo this number, because kernels use wider loads
/// for aligned addresses.
constexpr std::int64_t alignment = 64;

class Writer {
  public:
    explicit Writer(const Tape& tape) : tape_(tape) {}

    void write(const Argument& argument) {
        if (argument.kind == Argument::Kind::value) {
            text_ << argument.value;
            return;
        }
        text_ << (argument.kind == Argument::Kind::tensor ? "tensor" : "tensors");
        for (int operand : argument.operands) write(operand);
    }

    std::ostream& text() { return text_; }
    std::string take() { return std::move(text_).str(); }

  private:
    void write(int index) {
        if (index == no_operand) {
            text_ << " none";
            return;
        }
        const Operand& operand = tape_.operands[index];
        const std::int64_t bytes =
            operand.offset * static_cast<std::int64_t>(c10::elementSize(operand.dtype));
        text_ << ' ' << name_of(operand.tensor) << ' ' << c10::toString(operand.dtype) << ' ';
        list(operand.sizes);
        text_ << ' ';
        list(operand.strides);
        text_ << " +" << bytes % alignment;
        if (operand.wrapped_number) text_ << " number";
        if (operand.conjugated) text_ << " conjugated";
        if (operand.negated) text_ << " negated";
        if (operand.on_host) text_ << " host";
    }

    void list(const std::vector<std::int64_t>& numbers) {
        text_ << '[';
        for (std::size_t i = 0; i < numbers.size(); ++i) text_ << (i ? "," : "") << numbers[i];
        text_ << ']';
    }

    /// Names a tensor by the position of its first mention, so that x * x differs from x * y.
    std::size_t name_of(TensorId tensor) {
        const auto found = std::find(mentioned_.begin(), mentioned_.end(), tensor);
        const std::size_t place = static_cast<std::size_t>(found - mentioned_.begin());
        if (found == mentioned_.end()) mentioned_.push_back(tensor);
        return place;
    }

    const Tape& tape_;
    std::ostringstream text_;
    std::vector<TensorId> mentioned_;
};

}  // namespace

std::string signature_of(const Tape& tape, OpId id) {
    const TapeOp& op = tape.ops[id];
    Writer writer(tape);
    writer.text() << op.name;
    if (!op.overload.empty()) writer.text() << '.' << op.overload;
    if (op.grad_mode) writer.text() << "|grad";
    for (const Argument& argument : op.arguments) {
        writer.text() << '|';
        writer.write(argument);
    }
    return writer.take();
}

}  // namespace rematlas
