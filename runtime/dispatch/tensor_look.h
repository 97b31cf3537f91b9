// A description of a tensor without its memory (the "look"), and a function that makes such a tensor on other
// memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <utility>

namespace rematlas {

struct TensorLook {
    c10::ScalarType dtype = c10::ScalarType::Float;
    c10::IntArrayRef sizes, strides;
    std::int64_t offset = 0;      ///< in elements
    bool wrapped_number = false;  ///< the tensor stands for a number, and promotes types as a number does
    bool conjugated = false;      ///< the kernel reads the conjugate of the stored values
    bool negated = false;         ///< the kernel reads the negative of the stored values
};

/// `device` is the tensor's device, even if the storage belongs to another device.
inline at::Tensor tensor_on(c10::Storage storage, c10::Device device, const TensorLook& look) {
    const auto key = device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key),
                                                                 c10::scalarTypeToTypeMeta(look.dtype));
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(look.sizes, look.strides, look.offset);
    if (look.wrapped_number) impl->set_wrapped_number(true);
    if (look.conjugated) impl->_set_conj(true);
    if (look.negated) impl->_set_neg(true);
    return tensor;
}

}  // namespace rematlas
