// Tensors without data. Such a tensor has a device, a type, sizes, strides, and a storage that has a number
// of bytes but no memory.
//
//     at::Tensor weight = shape_tensor({50257, 1600}, {1600, 1}, c10::ScalarType::Float, device);   // 321 MB
//     weight.device(), weight.storage().nbytes();     // as for a real tensor
//     weight.const_data_ptr();                        // throws: "the values of a tensor are needed, ..."
//
// Autograd and everything else above the kernels treat shape tensors as tensors of their device, so a model
// behaves as on that device. The device need not exist.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// Says whether the tensor has data. A tensor of zero bytes counts as having data; other shape tensors
/// have none.
bool has_data(const at::Tensor& tensor);

at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                        c10::Device device);
/// Makes a contiguous shape tensor.
at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device);

/// Frees the data of a storage. All tensors on it become shape tensors.
void drop_data(const c10::Storage& storage);

/// Makes this tensor itself a contiguous shape tensor of the device. Its autograd state does not change.
void become_shape(const at::Tensor& tensor, c10::Device device);

/// Returns a storage of another device on the same memory. That device is the host, or an absent device whose
/// values are in host memory.
c10::Storage relabelled(const c10::Storage& storage, c10::Device device);

/// Says whether the values are in host memory. This is so for a tensor of the host that has data, and for a
/// tensor on a storage that `relabelled` has made.
bool has_values_on_host(const at::Tensor& tensor);

/// Returns a storage of this many bytes on the Meta device.
c10::Storage meta_storage(std::size_t bytes);

/// Turns the result of a Meta kernel into a shape tensor of the device, which takes over the result's
/// storage.
at::Tensor shape_from_meta(const at::Tensor& meta, c10::Device device);
/// Returns a view of the storage, on the storage's device, with the geometry of `like`.
at::Tensor tensor_on(const c10::Storage& storage, const at::Tensor& like);

}  // namespace rematlas
