// Copies of tensors whose elements may share memory, as in an expanded tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// Returns a view that has, of the elements that share memory, only the first. So a kernel that writes to the
/// view writes to each address once.
at::Tensor once_each(const at::Tensor& tensor);

/// Returns a copy with the same strides, in its own memory.
at::Tensor copy_as_it_lies(const at::Tensor& tensor);

}  // namespace rematlas
