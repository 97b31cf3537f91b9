// Fourier transforms. A result has the strides of the last one-dimensional pass.
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

Sizes sorted_by_stride(const Tensor& self, Sizes axes) {
    std::stable_sort(axes.begin(), axes.end(),
                     [&](std::int64_t a, std::int64_t b) { return self.stride(a) > self.stride(b); });
    return axes;
}

Sizes wrapped(const Tensor& self, IntArrayRef axes) {
    Sizes result;
    for (std::int64_t axis : axes) result.push_back(at::maybe_wrap_dim(axis, self.dim()));
    return result;
}

/// Returns a tensor that is contiguous if its axes are put in this order: first the axes that are not
/// transformed, the largest stride first, then the transformed axes.
Tensor batched(const Tensor& self, IntArrayRef sizes, const Sizes& axes, c10::ScalarType dtype) {
    Sizes order;
    for (std::int64_t axis = 0; axis < self.dim(); ++axis)
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
    order = sorted_by_stride(self, order);
    order.insert(order.end(), axes.begin(), axes.end());
    Sizes permuted, inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        permuted.push_back(sizes[static_cast<std::size_t>(order[i])]);
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return at::empty(permuted, self.options().dtype(dtype)).permute(inverse);
}

Tensor complex_to_complex(const Tensor& self, IntArrayRef axes, std::int64_t, bool) {
    if (axes.empty()) return preserving(self);
    return batched(self, self.sizes(), sorted_by_stride(self, wrapped(self, axes)), self.scalar_type());
}

Tensor real_to_complex(const Tensor& self, IntArrayRef axes, std::int64_t, bool one_sided) {
    Sizes sizes = self.sizes().vec(), order = wrapped(self, axes);
    const std::int64_t last = order.back();
    order.pop_back();
    order = sorted_by_stride(self, order);
    order.push_back(last);
    if (one_sided) sizes[static_cast<std::size_t>(last)] = self.size(last) / 2 + 1;
    return batched(self, sizes, order, c10::toComplexType(self.scalar_type()));
}

Tensor complex_to_real(const Tensor& self, IntArrayRef axes, std::int64_t normalization, std::int64_t size) {
    Sizes order = wrapped(self, axes);
    const std::int64_t last = order.back();
    order.pop_back();
    const Tensor input = order.empty() ? self : complex_to_complex(self, order, normalization, false);
    Sizes sizes = self.sizes().vec();
    sizes[static_cast<std::size_t>(last)] = size;
    return batched(input, sizes, {last}, c10::toRealValueType(self.scalar_type()));
}

}  // namespace

void add_transforms(Libraries& libraries) {
    add(libraries, "_fft_c2c", &complex_to_complex);
    add(libraries, "_fft_r2c", &real_to_complex);
    add(libraries, "_fft_c2r", &complex_to_real);
}

}  // namespace rematlas::meta
