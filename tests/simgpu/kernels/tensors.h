// Tensors of the device seen as tensors of the host: readable memory is readable memory.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <algorithm>

#include "tests/simgpu/engine.h"

namespace simgpu {

/// While it lives, kernels of the CPU that this thread calls see nothing of what the program has switched on:
/// modes, autograd, guards.
class Apart {
  public:
    Apart();

  private:
    at::ThreadLocalStateGuard guard_;
    at::AutoDispatchBelowADInplaceOrView below_;
    at::NoGradGuard no_grad_;
};

Access bytes_of(const at::Tensor& tensor, bool writes);
/// The same bytes as a tensor of the host that owns nothing.
at::Tensor on_host(const at::Tensor& tensor);
/// What a kernel is given of a host tensor: its values when it was called.
at::Tensor snapshot(const at::Tensor& tensor);

/// Calls `each` for every tensor of the value, in order, and puts what it gives in its place.
template <class Each>
c10::IValue mapped(const c10::IValue& value, Each&& each) {
    if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(each(value.toTensor())) : value;
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value.toTensorVector())
            list.push_back(tensor.defined() ? each(tensor) : tensor);
        return list;
    }
    if (!value.isList()) return value;
    const auto items = value.toListRef();
    if (std::none_of(items.begin(), items.end(), [](const c10::IValue& item) { return item.isTensor(); }))
        return value;
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& item : items) {
        const bool there = item.isTensor() && item.toTensor().defined();
        list.push_back(there ? std::optional<at::Tensor>(each(item.toTensor())) : std::nullopt);
    }
    return list;
}

}  // namespace simgpu
