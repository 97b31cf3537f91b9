// Tensors without data: they have a device, a type, sizes, strides and a storage that knows its bytes and
// holds none.
//
//     at::Tensor weight = shape_tensor({50257, 1600}, {1600, 1}, c10::ScalarType::Float, device);   // 321 MB
//     weight.device(), weight.storage().nbytes()      // as the real one would answer
//     weight.const_data_ptr()                         // throws: "the values of a tensor are needed, ..."
//
// For autograd and everything else above the kernels, they are tensors of their device, so that a model
// does the same here as on that device. The device need not exist.
#pragma once

#include <ATen/core/Tensor.h>

namespace rematlas {

/// False for a shape tensor of more than zero bytes.
bool has_data(const at::Tensor& tensor);

at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                        c10::Device device);
/// Makes a contiguous shape tensor.
at::Tensor shape_tensor(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device);

/// Gives up the data of a storage; all tensors on it become shape tensors.
void drop_data(const c10::Storage& storage);

/// Makes this tensor itself a contiguous shape tensor of the device. Its autograd state stays.
void become_shape(const at::Tensor& tensor, c10::Device device);

/// Presents the same memory as a storage of another device: of an absent device, whose values are in host
/// memory, or of the host.
c10::Storage relabelled(const c10::Storage& storage, c10::Device device);

/// Whether the values are in host memory. They are for a tensor of the host, and for a tensor on a storage
/// that `relabelled` has made.
bool has_values_on_host(const at::Tensor& tensor);

/// A storage of so many bytes on the Meta device.
c10::Storage meta_storage(std::size_t bytes);

/// Presents the result of a Meta kernel as a shape tensor of the device. The result's storage is taken
/// over.
at::Tensor shape_from_meta(const at::Tensor& meta, c10::Device device);
/// A view of the storage, on the storage's device, with the geometry of `like`.
at::Tensor tensor_on(const c10::Storage& storage, const at::Tensor& like);

}  // namespace rematlas
