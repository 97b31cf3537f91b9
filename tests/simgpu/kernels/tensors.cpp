#include "tests/simgpu/kernels/tensors.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/from_blob.h>

namespace simgpu {

Access bytes_of(const at::Tensor& tensor, bool writes) {
    if (tensor.numel() == 0) return {};
    std::int64_t last = 0;
    for (std::int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    const auto begin = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
    return {begin, begin + static_cast<std::uintptr_t>(last + 1) * tensor.element_size(), writes};
}

at::Tensor on_host(const at::Tensor& tensor) {
    at::Tensor alias = at::from_blob(const_cast<void*>(tensor.const_data_ptr()), tensor.sizes(),
                                     tensor.strides(), at::TensorOptions(tensor.scalar_type()));
    alias._set_conj(tensor.is_conj());
    alias._set_neg(tensor.is_neg());
    return alias;
}

at::Tensor snapshot(const at::Tensor& tensor) {
    at::Tensor copy;
    run_aside([&] {
        at::AutoDispatchBelowADInplaceOrView below;
        copy = tensor.detach().clone();
    });
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        copy.unsafeGetTensorImpl()->set_wrapped_number(true);
    return copy;
}

}  // namespace simgpu
