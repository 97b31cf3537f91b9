#include "tests/simgpu/kernels/tensors.h"

#include <ATen/ops/from_blob.h>

#include <future>

namespace simgpu {
namespace {

const at::ThreadLocalState& state_of_a_new_thread() {
    static const at::ThreadLocalState state =
        std::async(std::launch::async, [] { return at::ThreadLocalState(); }).get();
    return state;
}

}  // namespace

Apart::Apart() : guard_(state_of_a_new_thread()) {}

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
    const Apart apart;
    at::Tensor copy = tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        copy.unsafeGetTensorImpl()->set_wrapped_number(true);
    return copy;
}

}  // namespace simgpu
