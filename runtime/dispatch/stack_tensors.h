// Visits the tensors among the arguments or results of a call.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstddef>

namespace rematlas {

/// Returns true if the tensor has a Python class that handles each op (`__torch_dispatch__`). Only that class
/// knows the tensor's memory.
inline bool runs_python(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python);
}

/// Visits each tensor of the value: the value itself, or the tensors of a list.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
    if (value.isTensor()) {
        visit(value.toTensor());
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef())
            if (element.isTensor()) visit(element.toTensor());
    }
}

/// Visits each tensor among the last `count` values of the stack. Calls `visit(position, item, tensor)`;
/// `item` is the place in a list, or -1.
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
