// Copies of tensors whose elements may share memory, as those of an expanded tensor do.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// Of elements that share memory, the first: who writes may write each once.
at::Tensor once_each(const at::Tensor& tensor);

/// A copy with the same strides, in memory of its own.
at::Tensor copy_as_it_lies(const at::Tensor& tensor);

}  // namespace rematlas
