// Copies of tensors whose elements may share memory, as in an expanded tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// An expanded tensor has axes of stride 0, along which all elements share one address. Returns a view that
/// keeps one element along each of these axes. A kernel that writes to the view writes to each address once.
at::Tensor once_each(const at::Tensor& tensor);

/// Returns a copy with the same strides, in its own memory.
at::Tensor copy_as_it_lies(const at::Tensor& tensor);

}  // namespace rematlas
