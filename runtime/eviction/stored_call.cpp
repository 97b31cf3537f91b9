#include "runtime/eviction/stored_call.h"

#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "runtime/dispatch/tensor_look.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

/// Copies the tensor with its present contents.
at::Tensor copy_of(const at::Tensor& tensor) {
    at::Tensor copy = tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        copy.unsafeGetTensorImpl()->set_wrapped_number(true);
    return copy;
}

/// Returns a new list with the same tensors. Kernels may change the new list.
c10::IValue own_list(const c10::IValue& list) {
    if (list.isTensorList()) return list.toTensorList().copy();
    return list.toOptionalTensorList().copy();
}

void put(c10::IValue& argument, int item, at::Tensor tensor) {
    if (item < 0) {
        argument = std::move(tensor);
    } else if (argument.isTensorList()) {
        argument.toTensorList().set(static_cast<std::size_t>(item), std::move(tensor));
    } else {
        argument.toOptionalTensorList().set(static_cast<std::size_t>(item), std::move(tensor));
    }
}

/// Returns a list of the same length whose tensors are undefined.
c10::IValue without_tensors(const c10::IValue& list) {
    c10::IValue made = own_list(list);
    int item = 0;
    for (const c10::IValue& element : list.toListRef()) {
        if (element.isTensor()) put(made, item, at::Tensor());
        ++item;
    }
    return made;
}

bool holds_tensors(const c10::IValue& value) {
    return value.isList() && (value.isTensorList() || value.isOptionalTensorList());
}

}  // namespace

StoredCall::StoredCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                       const torch::jit::Stack& stack, std::vector<Place> places)
    : op_(op),
      keys_(behind_own_key(keys)),
      thread_keys_(c10::impl::tls_local_dispatch_key_set()),
      grad_mode_(at::GradMode::is_enabled()),
      places_(std::move(places)) {
    // When the call runs again, Python's dispatch modes do not see it.
    thread_keys_.excluded_ = thread_keys_.excluded_ | c10::python_ks;
    const std::size_t count = op.schema().arguments().size(), base = stack.size() - count;
    arguments_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const c10::IValue& value = stack[base + i];
        if (value.isTensor()) {
            arguments_.emplace_back(at::Tensor());
        } else if (holds_tensors(value)) {
            arguments_.push_back(without_tensors(value));
        } else if (value.isGenerator()) {
            generator_.emplace(i, value.toGenerator().clone());
            arguments_.emplace_back();
        } else {
            // A list that only the stack holds is not copied, because no other code can change it.
            arguments_.push_back(value.isList() && value.use_count() > 1 ? value.deepcopy() : value);
        }
    }
    looks_.resize(places_.size());
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const c10::IValue& value = stack[base + places_[i].argument];
        const at::Tensor& tensor =
            places_[i].item < 0 ? value.toTensor()
                                : value.toListRef()[static_cast<std::size_t>(places_[i].item)].toTensor();
        if (places_[i].kept) looks_[i].copy = copy_of(tensor);
        if (places_[i].kept) continue;
        const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
        Look& look = looks_[i];
        look.geometry.set_sizes(impl.sizes());
        look.geometry.set_strides(impl.strides());
        look.offset = impl.storage_offset();
        look.dtype = tensor.scalar_type();
        look.device = tensor.device();
        look.wrapped_number = impl.is_wrapped_number();
        look.conjugated = tensor.is_conj();
        look.negated = tensor.is_neg();
    }
}

at::Tensor StoredCall::Look::on(c10::Storage storage) const {
    if (copy.defined()) return copy;
    if (!storage)  // the op reads only the tensor's geometry
        storage =
            c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, device), nullptr, false);
    return tensor_on(std::move(storage), device,
                     {.dtype = dtype,
                      .sizes = geometry.sizes_arrayref(),
                      .strides = geometry.strides_arrayref(),
                      .offset = offset,
                      .wrapped_number = wrapped_number,
                      .conjugated = conjugated,
                      .negated = negated});
}

torch::jit::Stack StoredCall::run(DeviceRuntime& device,
                                  const std::function<c10::Storage(const Place&)>& storage_of) {
    torch::jit::Stack stack;
    stack.reserve(arguments_.size());
    for (const c10::IValue& argument : arguments_)
        stack.push_back(holds_tensors(argument) ? own_list(argument) : argument);
    for (std::size_t i = 0; i < places_.size(); ++i)
        put(stack[places_[i].argument], places_[i].item, looks_[i].on(storage_of(places_[i])));
    for (const std::size_t argument : left_out_) stack[argument] = at::Tensor();
    if (generator_) stack[generator_->first] = generator_->second.clone();
    struct PutBack {
        DeviceRuntime& device;
        std::unique_ptr<GeneratorState> state;
        ~PutBack() {
            if (state) device.set_generator_state(*state);
        }
    };
    const PutBack put_back{device, state_ ? device.generator_state() : nullptr};
    if (state_) device.set_generator_state(*state_);
    const c10::impl::ForceDispatchKeyGuard as_then(thread_keys_);
    const at::AutoGradMode grad_mode(grad_mode_);
    op_.redispatchBoxed(keys_, &stack);
    return stack;
}

}  // namespace rematlas
