// Copies of tensors whose elements may share memory, as in an expanded tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// Returns a view with one element along each axis of stride 0, as an expanded tensor has. A kernel that
/// writes to the view then writes to each address of the expanded tensor once.
at::Tensor once_each(const at::Tensor& tensor);

/// Returns a copy with the same strides, in its own memory.
at::Tensor copy_as_it_lies(const at::Tensor& tensor);

}  // namespace rematlas
