#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

using OptionalTensors = c10::List<OptionalTensor>;

Tensor index_select(const Tensor& self, std::int64_t axis, const Tensor& index) {
    TORCH_CHECK(index.dim() <= 1, "index_select: the index has ", index.dim(), " dimensions");
    Sizes sizes = self.sizes().vec();
    axis = at::maybe_wrap_dim(axis, self.dim());
    if (!sizes.empty()) sizes[static_cast<std::size_t>(axis)] = index.numel();
    return at::empty(sizes, self.options());
}

Tensor take(const Tensor& self, const Tensor& index) {
    return at::empty(index.sizes(), self.options());
}

Tensor embedding_backward(const Tensor& gradient, const Tensor&, std::int64_t rows, std::int64_t, bool) {
    return at::empty({rows, gradient.size(-1)}, gradient.options());
}

/// Mode 0 takes the sum, 1 the mean, 2 the maximum. On the host, plain sums of rows do not need the bag of
/// each row.
Four embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
                   std::int64_t mode, bool, const OptionalTensor& per_sample, bool last_offset,
                   std::int64_t padding) {
    const std::int64_t bags = offsets.size(0) - last_offset;
    const bool sums_rows = target_is_cpu() && mode == 0 && padding < 0 && weight.stride(1) == 1 &&
                           (!given(per_sample) || per_sample->stride(0) == 1);
    Tensor bag_of;
    if (sums_rows) {
        bag_of = at::empty({0}, offsets.options());
    } else if (target_is_cpu()) {
        bag_of = at::empty({indices.size(0) + 1}, offsets.options()).resize_({indices.size(0)});
    } else {
        bag_of = at::empty({indices.size(0)}, indices.options());
    }
    const Sizes largest = mode == 2 ? Sizes{bags, weight.size(1)} : target_is_cpu() ? Sizes{bags} : Sizes{0};
    return {at::empty({bags, weight.size(1)}, weight.options()), bag_of, at::empty({bags}, offsets.options()),
            at::empty(largest, offsets.options())};
}
Tensor embedding_bag_backward(const Tensor& gradient, const Tensor&, const Tensor&, const Tensor&,
                              const Tensor&, const Tensor&, std::int64_t rows, bool, std::int64_t,
                              bool sparse, const OptionalTensor&, std::int64_t) {
    TORCH_CHECK(!sparse, "a sparse or opaque tensor");
    return at::empty({rows, gradient.size(-1)}, gradient.options());
}

Tensor unfold_backward(const Tensor& gradient, IntArrayRef sizes, std::int64_t, std::int64_t, std::int64_t) {
    return at::empty(sizes, gradient.options());
}

Tensor search(const Tensor&, const Tensor& self, bool int32, bool, std::optional<c10::string_view>,
              const OptionalTensor&) {
    return at::empty(self.sizes(),
                     self.options().dtype(int32 ? c10::ScalarType::Int : c10::ScalarType::Long));
}
Tensor bucketize(const Tensor& self, const Tensor&, bool int32, bool) {
    return at::empty(self.sizes(),
                     self.options().dtype(int32 ? c10::ScalarType::Int : c10::ScalarType::Long));
}

/// The result has the gradient's values at the mask's positions, followed by zeros.
Tensor masked_scatter_backward(const Tensor& gradient, const Tensor&, IntArrayRef sizes) {
    return at::empty(sizes, gradient.options());
}

}  // namespace

void add_indexing(Libraries& libraries) {
    add(libraries, "index_select", &index_select);
    add(libraries, "index_put", of_first<preserving, const OptionalTensors&, const Tensor&, bool>);
    add(libraries, "index_put_", in_place<const OptionalTensors&, const Tensor&, bool>);
    add(libraries, "_index_put_impl_", in_place<const OptionalTensors&, const Tensor&, bool, bool>);
    add(libraries, "index_fill.int_Scalar",
        of_first<preserving, std::int64_t, const Tensor&, const at::Scalar&>);
    add(libraries, "index_fill.int_Tensor", of_first<preserving, std::int64_t, const Tensor&, const Tensor&>);
    add(libraries, "index_fill_.int_Scalar", in_place<std::int64_t, const Tensor&, const at::Scalar&>);
    add(libraries, "masked_fill_.Scalar", in_place<const Tensor&, const at::Scalar&>);
    add(libraries, "masked_fill_.Tensor", in_place<const Tensor&, const Tensor&>);
    add(libraries, "masked_scatter_backward", &masked_scatter_backward);
    add(libraries, "take", &take);
    add(libraries, "embedding_dense_backward", &embedding_backward);
    add(libraries, "embedding_renorm_", in_place<const Tensor&, double, double>);
    add(libraries, "_embedding_bag", &embedding_bag);
    add(libraries, "_embedding_bag_forward_only", &embedding_bag);
    add(libraries, "_embedding_bag_backward", &embedding_bag_backward);
    add(libraries, "unfold_backward", &unfold_backward);
    add(libraries, "searchsorted.Tensor", &search);
    add(libraries, "bucketize.Tensor", &bucketize);
}

}  // namespace rematlas::meta
