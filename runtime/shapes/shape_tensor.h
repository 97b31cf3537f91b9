// Tensors without data: a device, a type, sizes, strides and a storage that knows its bytes and holds none.
//
//     at::Tensor weight = shape_tensor({50257, 1600}, {1600, 1}, c10::ScalarType::Float, device);   // 321 MB
//     weight.device(), weight.storage().nbytes()      // as the real one would answer
//     weight.const_data_ptr()                         // throws: "... has no data ..."
//
// To autograd and to everything else above the kernels they are tensors of their device, so that what a
// model does on this device is what it does here. The device need not exist.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// False for a shape tensor of more than zero bytes.
bool has_data(const at::Tensor& tensor);

at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                        c10::Device device);
/// Contiguous.
at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device);

/// Gives up the data of a storage; all tensors on it become shape tensors.
void drop_data(const c10::Storage& storage);

/// Makes this very tensor, its autograd state included, a contiguous shape tensor of the device.
void become_shape(const at::Tensor& tensor, c10::Device device);

/// The same memory as a storage of another device: of a device that is not there, whose values lie in host
/// memory, or of the host.
c10::Storage relabelled(const c10::Storage& storage, c10::Device device);

/// Says whether the values lie in host memory: those of a tensor of the host, and of one on a storage that
/// `relabelled` has made.
bool has_values_on_host(const at::Tensor& tensor);

/// A storage of so many bytes on the Meta device.
c10::Storage meta_storage(std::size_t bytes);

/// What a Meta kernel made, as a shape tensor of the device; its storage goes over.
at::Tensor shape_from_meta(const at::Tensor& meta, c10::Device device);
/// The view of a storage, of this storage's device, that has the geometry of `like`.
at::Tensor tensor_on(const c10::Storage& storage, const at::Tensor& like);

}  // namespace rematlas
