// Replaces a collective that takes its process group as an object with one that takes the name of the group.
#pragma once

#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns the functional collective that does the same as an op of `c10d`, such as
/// `_c10d_functional::all_reduce_` for `c10d::allreduce_`. A functional collective takes only tensors, names
/// and numbers; its names and numbers can be compared and written to files. Returns nullopt if no functional
/// collective does the same.
std::optional<TapeOp> with_named_group(const TapeOp& op);

}  // namespace rematlas
