// Bit-by-bit comparison of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rematlas {

/// Says whether type, shape and bytes are equal. Strides may differ, and NaN equals itself. Two undefined
/// tensors are identical.
bool identical(const at::Tensor& a, const at::Tensor& b);
bool identical(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);

/// Returns copies, each with its own storage.
std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors);

}  // namespace rematlas
