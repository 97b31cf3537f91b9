// The Meta kernels by subject, and the functions that they share.
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
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// The libraries in which kernels are registered. `own` has all kernels under a dispatch key of Rematlas.
/// `meta` has those that libtorch lacks, because other Meta kernels call them.
struct Libraries {
    torch::Library own, meta;
};

/// Each function registers the kernels of one subject.
void add_convolutions(Libraries& libraries);
void add_normalizations(Libraries& libraries);
void add_images(Libraries& libraries);
void add_indexing(Libraries& libraries);
void add_reductions(Libraries& libraries);
void add_elementwise(Libraries& libraries);
void add_losses(Libraries& libraries);
void add_attention(Libraries& libraries);
void add_transforms(Libraries& libraries);
void add_linear_algebra(Libraries& libraries);
void add_recurrent(Libraries& libraries);

/// Says whether the device whose kernels are imitated is the host.
bool target_is_cpu();

/// Returns a dense tensor like the input, in the memory format that the input suggests.
Tensor like(const Tensor& input);
/// Returns a tensor like the input, with the same strides if the input is dense.
Tensor preserving(const Tensor& input);
Tensor contiguous_like(const Tensor& input);
/// Returns the result of an elementwise kernel, in the type of the first input unless `dtype` is given.
Tensor pointwise(std::initializer_list<Tensor> inputs, std::optional<c10::ScalarType> dtype = {});

/// Returns the type in which sums of this type are accumulated.
c10::ScalarType accumulated(c10::ScalarType dtype);
bool given(const OptionalTensor& tensor);

bool has_meta_kernel(const char* name);

/// Kernels that only look at their first or second argument: the result is `make` of that argument.
/// `Ignored`: the types of the arguments behind it.
template <auto make, class... Ignored>
constexpr auto of_first = +[](const Tensor& self, Ignored...) { return make(self); };
template <auto make, class... Ignored>
constexpr auto of_second = +[](const Tensor&, const Tensor& self, Ignored...) { return make(self); };
/// A kernel that writes to its first argument and leaves it as large as it is.
template <class... Ignored>
constexpr auto in_place = +[](Tensor& self, Ignored...) -> Tensor& { return self; };

template <class Function>
void add(Libraries& libraries, const char* name, Function function) {
    libraries.own.impl(name, function);
    if (!has_meta_kernel(name)) libraries.meta.impl(name, function);
}

}  // namespace rematlas::meta
