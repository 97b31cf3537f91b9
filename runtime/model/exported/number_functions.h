// Functions on numbers in an exported program: the functions of Python's `operator` and `math` and of
// `torch.sym_*` that compute sizes.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace rematlas::exported {

/// Integers behave as in Python: division rounds down, and a remainder has the sign of the divisor. `compute`
/// throws c10::Error if Python would raise an exception (division by zero, shift by a negative number), and
/// if the result does not fit into 64 bits.
struct NumberFunction {
    std::size_t arity;
    c10::IValue (*compute)(const std::vector<c10::IValue>& arguments);
};

/// Returns the function with this name in the archive, e.g. `_operator.floordiv` or
/// `torch.ops.aten.sym_size.int`; null if there is none.
const NumberFunction* number_function(std::string_view target);

}  // namespace rematlas::exported
