// The tensors of a call.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstddef>

namespace rematlas {

/// The tensor is of a class in Python that is asked for each op (`__torch_dispatch__`). What memory there is of
/// it that class alone knows.
inline bool runs_python(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python);
}

/// Visits each tensor of the value: itself, or those of a list.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
    if (value.isTensor()) {
        visit(value.toTensor());
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef())
            if (element.isTensor()) visit(element.toTensor());
    }
}

/// Visits each tensor among the last `count` values of the stack: (position, item or -1, tensor).
template <class Visit>
void for_each_tensor_of(const torch::jit::Stack& stack, std::size_t count, Visit&& visit) {
    const std::size_t base = stack.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
        const c10::IValue& value = stack[base + i];
        if (value.isTensor()) {
            visit(i, -1, value.toTensor());
        } else if (value.isList() && (value.isTensorList() || value.isOptionalTensorList())) {
            int item = 0;
            for (const c10::IValue& element : value.toListRef()) {
                if (element.isTensor()) visit(i, item, element.toTensor());
                ++item;
            }
        }
    }
}

}  // namespace rematlas
