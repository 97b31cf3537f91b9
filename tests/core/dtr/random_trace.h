// Random programs for differential tests of online eviction.
#pragma once

#include <cstdint>

#include "core/dtr/trace.h"

namespace rematlas {

/// About `calls` ops with views, several outputs, copies, repeated arguments, storages without bytes and ops
/// without time; what keeps a reference at the end is pinned. Small integers, so that ties are common. Equal
/// seeds give equal traces.
Trace random_trace(std::uint64_t seed, int calls);

/// The chain of the paper's theorem: n unit ops and their n backward ops, each of which reads the gradient
/// and the forward tensor before its own. Tensors have one byte and are released after their last use.
Trace unit_chain_trace(int n);

}  // namespace rematlas
