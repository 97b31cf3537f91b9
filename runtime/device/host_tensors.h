// Tensors of a device whose memory is the host's: kernels of the device find them, on a GPU over the link, and a step
// that has them at home there fetches what it needs.
//
//     Result<std::vector<at::Tensor>> moments = host_tensors(parameters, 0.0, *device);
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "runtime/device/device.h"

namespace rematlas {

/// One like each of these, which may lie anywhere and need not be dense; without `fill` with its contents. All lie in
/// one slab, which lives as long as any of them. Errors: no host memory, what cannot be copied.
Result<std::vector<at::Tensor>> host_tensors(const std::vector<at::Tensor>& like, std::optional<double> fill,
                                             DeviceRuntime& device);

}  // namespace rematlas
