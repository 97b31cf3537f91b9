// Replaces collectives that take their process group as an object by collectives that take its name.
#pragma once

#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns the functional collective that does the same as an op of `c10d`, such as
/// `_c10d_functional::all_reduce_` for `c10d::allreduce_`. Beside tensors it has only names and numbers as
/// arguments, which can be compared and written to files. Returns nullopt if no functional collective does
/// the same.
std::optional<TapeOp> with_named_group(const TapeOp& op);

}  // namespace rematlas
