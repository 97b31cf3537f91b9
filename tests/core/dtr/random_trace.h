// Random programs for differential tests of online eviction.
#pragma once

#include <cstdint>

#include "core/dtr/trace.h"

namespace rematlas {

/// Returns a trace of about `calls` ops with views, several outputs, copies, repeated arguments, storages
/// without bytes and ops without time. Tensors that still have a reference at the end are pinned. Numbers are
/// small integers, so that ties are common. Equal seeds give equal traces.
Trace random_trace(std::uint64_t seed, int calls);

/// Returns the chain of the paper's theorem: n unit ops and their n backward ops. The first backward op reads
/// nothing. Each later one reads the gradient, and the input of its forward op if there is one. Tensors have
/// one byte and are released after their last use.
Trace unit_chain_trace(int n);

}  // namespace rematlas
