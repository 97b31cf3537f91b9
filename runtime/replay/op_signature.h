// Everything that decides the cost of an op, as one string: ops with equal signatures run the same kernels
// on tensors of the same geometry, and cost the same.
//
//     signature_of(tape, op);  // "aten::mm|tensor 0 f32 [64,128] [128,1] +0|tensor 1 f32 [128,10] [10,1] +0"
#pragma once

#include <string>

#include "runtime/replay/tape.h"

namespace rematlas {

/// The signature names the operator and the overload; the types, sizes, strides and alignment of the
/// operands; which operands share a tensor; and the values of all other arguments. It leaves out the contents
/// of tensors, and whether the op may write over them.
std::string signature_of(const Tape& tape, OpId op);

}  // namespace rematlas
