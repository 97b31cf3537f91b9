// Makes tensors that belong to a device but have their memory on the host. Kernels of a GPU access them over
// the link. If a plan keeps such tensors on the host, a step copies them to the device when it needs them.
//
//     Result<std::vector<at::Tensor>> moments = host_tensors(parameters, 0.0, *device);
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "runtime/device/device.h"

namespace rematlas {

/// Makes a tensor like each tensor in `like`. The tensors in `like` can have any layout and need not be
/// dense. Without `fill`, each new tensor has the contents of its original. All new tensors are in one slab,
/// which lives as long as any of them. Fails if there is no host memory, or if a tensor cannot be copied.
Result<std::vector<at::Tensor>> host_tensors(const std::vector<at::Tensor>& like, std::optional<double> fill,
                                             DeviceRuntime& device);

}  // namespace rematlas
