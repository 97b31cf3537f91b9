// The Meta kernels by subject, and what they share.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/library.h>

#include <initializer_list>
#include <optional>
#include <tuple>
#include <vector>

namespace rematlas::meta {

using at::Tensor;
using c10::IntArrayRef;
using OptionalTensor = std::optional<Tensor>;
using Sizes = std::vector<std::int64_t>;

/// Each adds its kernels where there are none yet.
void add_convolutions(torch::Library& library);
void add_normalizations(torch::Library& library);
void add_images(torch::Library& library);
void add_indexing(torch::Library& library);
void add_reductions(torch::Library& library);
void add_elementwise(torch::Library& library);
void add_losses(torch::Library& library);
void add_attention(torch::Library& library);
void add_transforms(torch::Library& library);
void add_recurrent(torch::Library& library);

/// The device whose kernels are followed.
bool target_is_cpu();

/// Dense in the layout that the input suggests.
Tensor like(const Tensor& input);
/// With the strides of the input where it is dense.
Tensor preserving(const Tensor& input);
Tensor contiguous_like(const Tensor& input);
/// What an elementwise kernel makes of its inputs, in the type of the first one unless given.
Tensor pointwise(std::initializer_list<Tensor> inputs, std::optional<c10::ScalarType> dtype = {});

/// What sums of this type are kept in.
c10::ScalarType accumulated(c10::ScalarType dtype);
bool given(const OptionalTensor& tensor);

bool has_meta_kernel(const char* name);

template <class Function>
void add(torch::Library& library, const char* name, Function function) {
    if (!has_meta_kernel(name)) library.impl(name, function);
}

}  // namespace rematlas::meta
