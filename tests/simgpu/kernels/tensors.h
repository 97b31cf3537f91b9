// Turns tensors of the device into host tensors with the same bytes; the host can read the stand-in's device
// memory.
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

/// While an object of this class exists, modes, autograd and guards of the program do not affect the CPU
/// kernels that this thread calls.
class Apart {
  public:
    Apart();

  private:
    at::ThreadLocalStateGuard guard_;
    at::AutoDispatchBelowADInplaceOrView below_;
    at::NoGradGuard no_grad_;
};

Access bytes_of(const at::Tensor& tensor, bool writes);
/// Returns a host tensor that views the bytes of `tensor` without owning them.
at::Tensor on_host(const at::Tensor& tensor);
/// Returns a copy of a host tensor with the values at the time of the call, for a kernel that runs later.
at::Tensor snapshot(const at::Tensor& tensor);

/// Calls `each` for every tensor of the value, in order, and replaces the tensor by the result.
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
