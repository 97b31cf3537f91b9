// How fast this machine updates parameters in its own memory, by updating some.
//
//     Result<HostProfile> host = measure_host(Bytes(64 << 20));
#pragma once

#include "core/base/result.h"
#include "core/costs/host_profile.h"

namespace rematlas {

/// Runs fused AdamW updates of f32 parameters with all of libtorch's threads: the median of five large ones
/// says how many bytes they move in a second, the median of small ones how long any takes. `bytes`: of the
/// parameters; gradients and two states take as much again each. Errors: no memory.
Result<HostProfile> measure_host(Bytes bytes);

}  // namespace rematlas
