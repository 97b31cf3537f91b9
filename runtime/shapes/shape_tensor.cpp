#include "runtime/shapes/shape_tensor.h"

#include <c10/core/Allocator.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/strides.h>

#include <vector>

namespace rematlas {
namespace {

/// Gives the storage a null pointer of this device. Tensors that are made on the storage afterwards get this
/// device; tensors that exist already keep theirs.
void set_device(c10::StorageImpl& storage, c10::Device device) {
    storage._mutable_data_ptr_no_checks() = c10::DataPtr(nullptr, device);
}

void forbid_access(c10::StorageImpl& storage) {
    storage.release_data_and_set_meta_custom_data_ptr_error_msg_(
        "the values of a tensor are needed, and a capture from shapes has none");
}

c10::DispatchKey backend_key(c10::Device device) {
    if (device.is_meta()) return c10::DispatchKey::Meta;
    return device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
}

c10::Storage empty_storage(std::size_t bytes, c10::Device device) {
    c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(nullptr, device),
                         c10::GetAllocator(c10::DeviceType::Meta), /*resizable=*/true);
    if (!device.is_meta()) forbid_access(*storage.unsafeGetStorageImpl());
    return storage;
}

void let_go_of_storage(void* storage) {
    delete static_cast<c10::Storage*>(storage);
}

std::size_t bytes_needed(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 0) return 0;
        last += (sizes[i] - 1) * strides[i];
    }
    return static_cast<std::size_t>(last + 1) * c10::elementSize(dtype);
}

}  // namespace

bool has_data(const at::Tensor& tensor) {
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    return storage.nbytes() == 0 || storage._mutable_data_ptr_no_checks().get() != nullptr;
}

at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                        c10::Device device) {
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        empty_storage(bytes_needed(sizes, strides, dtype), device), c10::DispatchKeySet(backend_key(device)),
        c10::scalarTypeToTypeMeta(dtype));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    return tensor;
}

at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device) {
    return shape_tensor(sizes, c10::contiguous_strides(sizes), dtype, device);
}

void drop_data(const c10::Storage& storage) {
    c10::StorageImpl& bytes = *storage.unsafeGetStorageImpl();
    set_device(bytes, bytes.device());
    forbid_access(bytes);
}

void become_shape(const at::Tensor& tensor, c10::Device device) {
    const at::Tensor shape = shape_tensor(tensor.sizes(), tensor.scalar_type(), device);
    tensor.unsafeGetTensorImpl()->shallow_copy_from(shape.getIntrusivePtr());
}

c10::Storage meta_storage(std::size_t bytes) {
    return empty_storage(bytes, c10::DeviceType::Meta);
}

at::Tensor tensor_on(const c10::Storage& storage, const at::Tensor& like) {
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(storage), c10::DispatchKeySet(backend_key(storage.device())), like.dtype());
    c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    impl.set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
    if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl.set_wrapped_number(true);
    if (like.is_conj()) impl._set_conj(true);
    if (like.is_neg()) impl._set_neg(true);
    return tensor;
}

at::Tensor shape_from_meta(const at::Tensor& meta, c10::Device device) {
    c10::StorageImpl& storage = *meta.storage().unsafeGetStorageImpl();
    set_device(storage, device);
    forbid_access(storage);
    return tensor_on(meta.storage(), meta);
}

c10::Storage relabelled(const c10::Storage& storage, c10::Device device) {
    void* memory = storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
    return {c10::Storage::use_byte_size_t(), storage.nbytes(),
            c10::DataPtr(memory, new c10::Storage(storage), &let_go_of_storage, device),
            /*allocator=*/nullptr, /*resizable=*/false};
}

bool has_values_on_host(const at::Tensor& tensor) {
    if (!has_data(tensor)) return false;
    const c10::DataPtr& memory = tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
    return tensor.device().is_cpu() || tensor.nbytes() == 0 || memory.get_deleter() == &let_go_of_storage;
}

}  // namespace rematlas
