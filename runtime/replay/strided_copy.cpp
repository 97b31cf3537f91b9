#include "runtime/replay/strided_copy.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <vector>

namespace rematlas {

at::Tensor once_each(const at::Tensor& tensor) {
    std::vector<std::int64_t> sizes = tensor.sizes().vec();
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (tensor.stride(static_cast<std::int64_t>(i)) == 0) sizes[i] = std::min<std::int64_t>(sizes[i], 1);
    return tensor.as_strided(sizes, tensor.strides());
}

at::Tensor copy_as_it_lies(const at::Tensor& tensor) {
    const at::Tensor copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
    once_each(copy).copy_(once_each(tensor));
    return copy;
}

}  // namespace rematlas
