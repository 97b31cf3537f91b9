// Measures how fast this machine updates parameters in its own memory, by updating some.
//
//     Result<HostProfile> host = measure_host(Bytes(64 << 20));
#pragma once

#include "core/base/result.h"
#include "core/costs/host_profile.h"

namespace rematlas {

/// Runs fused AdamW updates of f32 parameters with all of libtorch's threads. The median of five large
/// updates gives the bytes moved in a second; the median of small ones gives the least time of an update.
/// `bytes`: bytes of the parameters; gradients and two states take as much again each. Errors: no memory.
Result<HostProfile> measure_host(Bytes bytes);

}  // namespace rematlas
