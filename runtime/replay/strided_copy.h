// Copies of tensors whose elements may share memory, as in an expanded tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// Returns a view with only the first of all elements that have the same address. So a kernel that writes to
/// the view writes to each address once.
at::Tensor once_each(const at::Tensor& tensor);

/// Returns a copy with the same strides, in its own memory.
at::Tensor copy_as_it_lies(const at::Tensor& tensor);

}  // namespace rematlas
