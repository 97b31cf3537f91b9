#include "runtime/replay/home_tensors.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "runtime/dispatch/tensor_look.h"
#include "runtime/model/model.h"

namespace rematlas {
namespace {

bool lives_there(const Homes& homes, TensorId tensor) {
    return std::binary_search(homes.on_host.begin(), homes.on_host.end(), tensor);
}

at::Tensor on(c10::Storage storage, c10::Device device, const at::Tensor& like) {
    return tensor_on(std::move(storage), device,
                     {.dtype = like.scalar_type(),
                      .sizes = like.sizes(),
                      .strides = like.strides(),
                      .offset = like.storage_offset(),
                      .conjugated = like.is_conj(),
                      .negated = like.is_neg()});
}

/// Returns a storage that counts as one of the device, but refers to the bytes of `on_host`.
c10::Storage as_of(c10::Device device, const c10::Storage& on_host) {
    auto* owner = new c10::Storage(on_host);
    const auto let_go = [](void* context) { delete static_cast<c10::Storage*>(context); };
    c10::DataPtr memory(const_cast<void*>(on_host.data()), owner, let_go, device);
    return {c10::Storage::use_byte_size_t(), on_host.nbytes(), std::move(memory), nullptr, false};
}

c10::Storage copied_to(c10::Device device, const c10::Storage& on_host) {
    const std::int64_t bytes[] = {static_cast<std::int64_t>(on_host.nbytes())}, stride[] = {1};
    const at::Tensor all = tensor_on(on_host, c10::DeviceType::CPU,
                                     {.dtype = c10::ScalarType::Byte, .sizes = bytes, .strides = stride});
    return all.to(device).storage();
}

}  // namespace

Result<PlacedTensors> place_by_homes(const std::vector<NamedTensor>& tensors, const Tape& tape,
                                     const Homes& homes, const DeviceRuntime& device) {
    std::unordered_set<std::string> there;
    for (const Binding& binding : tape.bindings)
        if (lives_there(homes, binding.operand.tensor) && !binding.operand.on_host)
            there.insert(binding.name);
    PlacedTensors placed;
    std::unordered_map<const c10::StorageImpl*, c10::Storage> memory;
    // Maps each given tensor to its new tensor, so that a tensor with two names stays one tensor.
    std::unordered_map<const c10::TensorImpl*, at::Tensor> known;
    try {
        for (const NamedTensor& named : tensors) {
            const c10::Storage& on_host = named.tensor.storage();
            c10::Storage& storage = memory[on_host.unsafeGetStorageImpl()];
            if (!storage)
                storage = there.contains(named.name) ? as_of(device.device(), on_host)
                                                     : copied_to(device.device(), on_host);
            at::Tensor& tensor = known[named.tensor.unsafeGetTensorImpl()];
            if (!tensor.defined())
                tensor = on(storage, device.device(), named.tensor)
                             .set_requires_grad(named.tensor.requires_grad());
            placed.tensors.push_back({named.name, tensor, named.is_parameter});
        }
        for (const StateTensor& state : tape.states) {
            const Operand& like = state.operand;
            const bool at_home = lives_there(homes, like.tensor) && !like.on_host;
            const c10::Device where =
                at_home || like.on_host ? c10::Device(c10::DeviceType::CPU) : device.device();
            const at::Tensor made = at::empty_strided(like.sizes, like.strides,
                                                      c10::TensorOptions().dtype(like.dtype).device(where))
                                        .fill_(state.initial);
            placed.states.push_back(
                at_home ? on(as_of(device.device(), made.storage()), device.device(), made) : made);
        }
    } catch (const std::exception& error) {
        return Error{one_line(error), ErrorKind::failure};
    }
    return placed;
}

}  // namespace rematlas
