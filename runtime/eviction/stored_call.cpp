#include "runtime/eviction/stored_call.h"

#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <vector>

namespace rematlas {
namespace {

/// A tensor's device is its storage's.
const c10::Storage& no_storage(c10::Device device) {
    static const auto none = [] {
        std::vector<c10::Storage> made;
        for (int index = -1; index < std::numeric_limits<c10::DeviceIndex>::max(); ++index) {
            const c10::Device of =
                index < 0 ? c10::Device(c10::DeviceType::CPU)
                          : c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
            made.emplace_back(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, of), nullptr, false);
        }
        return made;
    }();
    return none.at(device.is_cpu() ? 0 : static_cast<std::size_t>(device.index()) + 1);
}

at::Tensor ghost_of(const at::Tensor& tensor) {
    const auto key = tensor.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
    at::Tensor ghost = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(no_storage(tensor.device())),
                                                                c10::DispatchKeySet(key), tensor.dtype());
    c10::TensorImpl* impl = ghost.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    if (tensor.is_conj()) impl->_set_conj(true);
    if (tensor.is_neg()) impl->_set_neg(true);
    return ghost;
}

/// Its contents as they are now.
at::Tensor copy_of(const at::Tensor& tensor) {
    at::Tensor copy = tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        copy.unsafeGetTensorImpl()->set_wrapped_number(true);
    return copy;
}

/// A list with the same tensors, which kernels may change.
c10::IValue own_list(const c10::IValue& list) {
    if (list.isTensorList()) return list.toTensorList().copy();
    return list.toOptionalTensorList().copy();
}

bool holds_tensors(const c10::IValue& value) {
    return value.isList() && (value.isTensorList() || value.isOptionalTensorList());
}

}  // namespace

StoredCall::StoredCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                       const torch::jit::Stack& stack, std::vector<Place> places)
    : op_(op),
      keys_(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake)),
      thread_keys_(c10::impl::tls_local_dispatch_key_set()),
      grad_mode_(at::GradMode::is_enabled()),
      places_(std::move(places)) {
    const std::size_t count = op.schema().arguments().size(), base = stack.size() - count;
    arguments_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const c10::IValue& value = stack[base + i];
        if (value.isTensor()) {
            arguments_.emplace_back(at::Tensor());
        } else if (holds_tensors(value)) {
            arguments_.push_back(own_list(value));
        } else if (value.isGenerator()) {
            generator_.emplace(i, value.toGenerator().clone());
            arguments_.emplace_back();
        } else {
            arguments_.push_back(value.isList() ? value.deepcopy() : value);
        }
    }
    for (Place& place : places_) {
        const c10::IValue& value = stack[base + place.argument];
        const at::Tensor& tensor = place.item < 0
                                       ? value.toTensor()
                                       : value.toListRef()[static_cast<std::size_t>(place.item)].toTensor();
        if (!tensor.defined()) continue;
        place.ghost = place.kept ? copy_of(tensor) : ghost_of(tensor);
        c10::IValue& argument = arguments_[place.argument];
        if (place.item < 0) {
            argument = place.ghost;
        } else if (argument.isTensorList()) {
            argument.toTensorList().set(static_cast<std::size_t>(place.item), place.ghost);
        } else {
            argument.toOptionalTensorList().set(static_cast<std::size_t>(place.item), place.ghost);
        }
    }
}

torch::jit::Stack StoredCall::run(DeviceRuntime& device,
                                  const std::function<c10::Storage(const Place&)>& storage_of) {
    for (const Place& place : places_) {
        if (!place.ghost.defined()) continue;
        if (c10::Storage storage = storage_of(place))
            place.ghost.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
    }
    torch::jit::Stack stack;
    stack.reserve(arguments_.size());
    for (const c10::IValue& argument : arguments_)
        stack.push_back(holds_tensors(argument) ? own_list(argument) : argument);
    for (const std::size_t argument : left_out_) stack[argument] = at::Tensor();
    if (generator_) stack[generator_->first] = generator_->second.clone();
    struct PutBack {
        std::vector<Place>& places;
        DeviceRuntime& device;
        std::unique_ptr<GeneratorState> state;
        ~PutBack() {
            if (state) device.set_generator_state(*state);
            for (const Place& place : places)
                if (place.ghost.defined() && !place.kept)
                    place.ghost.unsafeGetTensorImpl()->set_storage_keep_dtype(
                        c10::Storage(no_storage(place.ghost.device())));
        }
    };
    const PutBack put_back{places_, device, state_ ? device.generator_state() : nullptr};
    if (state_) device.set_generator_state(*state_);
    const c10::impl::ForceDispatchKeyGuard as_then(thread_keys_);
    const at::AutoGradMode grad_mode(grad_mode_);
    op_.redispatchBoxed(keys_, &stack);
    return stack;
}

}  // namespace rematlas
