// Functions of numbers in an exported program: the functions of Python's `operator`, `math` and
// `torch.sym_*` that compute with sizes.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace rematlas::exported {

/// Integers behave as in Python: division rounds down, a remainder has the sign of the divisor. Throws
/// c10::Error where Python raises (a division by zero, a shift by a negative number), and if 64 bits do not
/// hold the result.
struct NumberFunction {
    std::size_t arity;
    c10::IValue (*compute)(const std::vector<c10::IValue>& arguments);
};

/// The function by its name in the archive, e.g. `_operator.floordiv` or `torch.ops.aten.sym_size.int`;
/// null if there is none.
const NumberFunction* number_function(std::string_view target);

}  // namespace rematlas::exported
