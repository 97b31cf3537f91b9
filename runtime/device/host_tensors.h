// Tensors of a device whose memory is the host's. Kernels of a GPU access them over the link. A step in
// which they live on the host copies them to the device as it needs them.
//
//     Result<std::vector<at::Tensor>> moments = host_tensors(parameters, 0.0, *device);
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "runtime/device/device.h"

namespace rematlas {

/// Makes a tensor like each of `like`, which may have any layout in memory and need not be dense. Without
/// `fill` it holds the contents of the original. All are in one slab, which lives as long as any of them.
/// Errors: no host memory; a tensor that cannot be copied.
Result<std::vector<at::Tensor>> host_tensors(const std::vector<at::Tensor>& like, std::optional<double> fill,
                                             DeviceRuntime& device);

}  // namespace rematlas
