// What decides the cost of an op, as one string: ops with equal signatures run the same kernels on tensors of
// the same geometry, and cost the same.
//
//     signature_of(tape, op);  // "aten::mm|tensor 0 f32 [64,128] [128,1] +0|tensor 1 f32 [128,10] [10,1] +0"
#pragma once

#include <string>

#include "runtime/replay/tape.h"

namespace rematlas {

/// Operator and overload, the types, sizes and strides of the operands, their alignment, which of them look
/// at the same tensor, and the values of all other arguments. Not the contents of tensors, and not whether
/// the op may write over them.
std::string signature_of(const Tape& tape, OpId op);

}  // namespace rematlas
