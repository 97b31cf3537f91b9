// Measures how fast this machine updates parameters in its own memory, by updating sample parameters.
//
//     Result<HostProfile> host = measure_host(Bytes(64 << 20));
#pragma once

#include "core/base/result.h"
#include "core/costs/host_profile.h"

namespace rematlas {

/// Runs fused AdamW updates of f32 parameters with all of libtorch's threads. The median of five large
/// updates gives the bytes moved per second; the median of small ones gives the least time of an update.
/// `bytes`: size of the parameters; the gradients and each of two states take as many bytes again. Fails if
/// there is no memory.
Result<HostProfile> measure_host(Bytes bytes);

}  // namespace rematlas
