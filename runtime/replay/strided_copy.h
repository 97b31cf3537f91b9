// Copies of tensors whose elements may share memory, as those of an expanded tensor do.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// A view with only the first of several elements that share memory, so that whoever writes to the view
/// writes each element once.
at::Tensor once_each(const at::Tensor& tensor);

/// A copy with the same strides, in memory of its own.
at::Tensor copy_as_it_lies(const at::Tensor& tensor);

}  // namespace rematlas
