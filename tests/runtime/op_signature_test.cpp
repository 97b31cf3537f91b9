#include "runtime/replay/op_signature.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rematlas {
namespace {

Argument tensor(int operand) {
    return {Argument::Kind::tensor, {}, {operand}};
}
Argument value(c10::IValue given) {
    return {Argument::Kind::value, std::move(given), {}};
}

/// A tape with aten::add(operand 0, operand 1, alpha) on two tensors of [4, 8].
Tape addition() {
    Tape tape;
    for (int i = 0; i < 2; ++i)
        tape.operands.push_back({.tensor = TensorId(i), .sizes = {4, 8}, .strides = {8, 1}});
    tape.ops.push_back(
        {.name = "aten::add", .overload = "Tensor", .arguments = {tensor(0), tensor(1), value(1)}});
    return tape;
}

std::string signature(const Tape& tape) {
    return signature_of(tape, OpId(0));
}

TEST(OpSignature, does_not_depend_on_which_tensors_they_are) {
    Tape other = addition();
    other.operands[0].tensor = TensorId(17);
    other.operands[1].tensor = TensorId(3);
    EXPECT_EQ(signature(other), signature(addition()));
}

TEST(OpSignature, depends_on_everything_that_kernels_are_chosen_by) {
    const std::string plain = signature(addition());
    const auto changed = [&](auto change) {
        Tape tape = addition();
        change(tape);
        return signature(tape) != plain;
    };
    EXPECT_TRUE(changed([](Tape& t) { t.ops[OpId(0)].name = "aten::sub"; }));
    EXPECT_TRUE(changed([](Tape& t) { t.ops[OpId(0)].overload = "out"; }));
    EXPECT_TRUE(changed([](Tape& t) { t.ops[OpId(0)].grad_mode = true; }));
    EXPECT_TRUE(changed([](Tape& t) { t.ops[OpId(0)].arguments[2] = value(2); }));
    EXPECT_TRUE(changed([](Tape& t) { t.ops[OpId(0)].arguments[1].operands = {no_operand}; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].dtype = c10::ScalarType::Double; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].sizes = {8, 4}; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].strides = {1, 4}; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].offset = 1; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].wrapped_number = true; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].on_host = true; }));
    EXPECT_TRUE(changed([](Tape& t) { t.operands[1].tensor = TensorId(0); }))
        << "x + x reads less than x + y";
    EXPECT_FALSE(changed([](Tape& t) { t.operands[1].offset = 16; })) << "aligned as before";
}

TEST(OpSignature, tells_values_apart_to_the_last_digit) {
    Tape third = addition(), near = addition();
    third.ops[OpId(0)].arguments[2] = value(1.0 / 3);
    near.ops[OpId(0)].arguments[2] = value(std::nextafter(1.0 / 3, 1.0));
    EXPECT_NE(signature(third), signature(near));
}

}  // namespace
}  // namespace rematlas
