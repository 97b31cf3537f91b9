// Bit-by-bit comparison of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rematlas {

/// Equal type, shape and bytes; strides may differ, NaN equals itself. Two undefined tensors are identical.
bool identical(const at::Tensor& a, const at::Tensor& b);
bool identical(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);

/// Copies, each with a storage of its own.
std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors);

}  // namespace rematlas
