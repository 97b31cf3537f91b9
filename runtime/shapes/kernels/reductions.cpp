#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

Sizes reduced(const Tensor& self, at::OptionalIntArrayRef axes, bool keep) {
    std::vector<bool> gone(static_cast<std::size_t>(self.dim()), !axes || axes->empty());
    if (axes)
        for (std::int64_t axis : *axes)
            if (self.dim() > 0) gone[static_cast<std::size_t>(at::maybe_wrap_dim(axis, self.dim()))] = true;
    Sizes sizes;
    for (std::size_t i = 0; i < gone.size(); ++i) {
        if (!gone[i]) sizes.push_back(self.size(static_cast<std::int64_t>(i)));
        if (gone[i] && keep) sizes.push_back(1);
    }
    return sizes;
}

Tensor moment(const Tensor& self, at::OptionalIntArrayRef axes, const std::optional<at::Scalar>&, bool keep) {
    return at::empty(reduced(self, axes, keep),
                     self.options().dtype(c10::toRealValueType(self.scalar_type())));
}
Two two_moments(const Tensor& self, at::OptionalIntArrayRef axes, const std::optional<at::Scalar>& correction,
                bool keep) {
    return {moment(self, axes, correction, keep), at::empty(reduced(self, axes, keep), self.options())};
}

Two selected(const Tensor& self, std::int64_t axis, bool keep) {
    const Sizes sizes = reduced(self, IntArrayRef(axis), keep);
    return {at::empty(sizes, self.options()), at::empty(sizes, self.options().dtype(c10::ScalarType::Long))};
}
Two kth(const Tensor& self, std::int64_t, std::int64_t axis, bool keep) {
    return selected(self, axis, keep);
}

Tensor scalar(const Tensor& self) {
    return at::empty({}, self.options());
}
Tensor product(const Tensor& self, std::optional<c10::ScalarType> dtype) {
    const c10::ScalarType own =
        c10::isIntegralType(self.scalar_type(), true) ? c10::ScalarType::Long : self.scalar_type();
    return at::empty({}, self.options().dtype(dtype.value_or(own)));
}

Tensor sum_of_numbers(const Tensor& self, at::OptionalIntArrayRef axes, bool keep,
                      std::optional<c10::ScalarType> dtype) {
    const c10::ScalarType own =
        c10::isIntegralType(self.scalar_type(), true) ? c10::ScalarType::Long : self.scalar_type();
    return at::empty(reduced(self, axes, keep), self.options().dtype(dtype.value_or(own)));
}
Tensor count(const Tensor& self, IntArrayRef axes) {
    return at::empty(reduced(self, axes, false), self.options().dtype(c10::ScalarType::Long));
}
Tensor histogram_within(const Tensor& self, std::int64_t bins, const at::Scalar&, const at::Scalar&) {
    return at::empty({bins}, self.options());
}
Two histogram_of(const Tensor& self, std::int64_t bins, std::optional<at::ArrayRef<double>>,
                 const OptionalTensor&, bool) {
    return {at::empty({bins}, self.options()), at::empty({bins + 1}, self.options())};
}
Two histogram_between(const Tensor& self, const Tensor& edges, const OptionalTensor&, bool) {
    return {at::empty({edges.numel() - 1}, self.options()), contiguous_like(edges)};
}

Tensor segments(const Tensor& data, c10::string_view, const OptionalTensor& lengths, const OptionalTensor&,
                const OptionalTensor& offsets, std::int64_t axis, bool, const std::optional<at::Scalar>&) {
    axis = at::maybe_wrap_dim(axis, data.dim());
    Sizes sizes = data.sizes().vec();
    sizes[static_cast<std::size_t>(axis)] = given(lengths) ? lengths->size(axis) : offsets->size(axis) - 1;
    return at::empty(sizes, data.options());
}
Tensor segments_backward(const Tensor&, const Tensor&, const Tensor& data, c10::string_view,
                         const OptionalTensor&, const OptionalTensor&, std::int64_t,
                         const std::optional<at::Scalar>&) {
    return at::empty(data.sizes(), data.options());
}

Tensor pair_distances(const Tensor& self, double) {
    const std::int64_t rows = self.size(0);
    return at::empty({rows * (rows - 1) / 2}, self.options());
}

Two running_extreme(const Tensor& self, std::int64_t) {
    return {at::empty(self.sizes(), self.options()),
            at::empty(self.sizes(), self.options().dtype(c10::ScalarType::Long))};
}

Tensor distances(const Tensor& left, const Tensor& right, double, std::optional<std::int64_t>) {
    Sizes sizes = left.sizes().vec();
    for (std::int64_t axis = 0; axis + 2 < right.dim() && axis + 2 < left.dim(); ++axis)
        sizes[static_cast<std::size_t>(left.dim() - 3 - axis)] =
            std::max(left.size(-3 - axis), right.size(-3 - axis));
    sizes.back() = right.size(-2);
    return at::empty(sizes, left.options());
}

Tensor multinomial(const Tensor& self, std::int64_t count, bool, std::optional<at::Generator>) {
    Sizes sizes = self.sizes().vec();
    sizes.back() = count;
    return at::empty(sizes, self.options().dtype(c10::ScalarType::Long));
}

}  // namespace

void add_reductions(Libraries& libraries) {
    add(libraries, "var.correction", &moment);
    add(libraries, "std.correction", &moment);
    add(libraries, "var_mean.correction", &two_moments);
    add(libraries, "std_mean.correction", &two_moments);
    add(libraries, "median.dim", &selected);
    add(libraries, "nanmedian.dim", &selected);
    add(libraries, "mode", &selected);
    add(libraries, "kthvalue", &kth);
    for (const char* name : {"max", "min", "median", "nanmedian", "trace"}) add(libraries, name, &scalar);
    for (const char* name : {"dot", "vdot"}) add(libraries, name, of_first<scalar, const Tensor&>);
    add(libraries, "prod", &product);
    add(libraries, "nansum", &sum_of_numbers);
    add(libraries, "count_nonzero.dim_IntList", &count);
    add(libraries, "histc", &histogram_within);
    add(libraries, "histogram.bin_ct", &histogram_of);
    add(libraries, "histogram.bins_tensor", &histogram_between);
    add(libraries, "segment_reduce", &segments);
    add(libraries, "_segment_reduce_backward", &segments_backward);
    add(libraries, "_pdist_forward", &pair_distances);
    add(libraries, "_pdist_backward", of_second<contiguous_like, double, const Tensor&>);
    add(libraries, "cummax", &running_extreme);
    add(libraries, "cummin", &running_extreme);
    add(libraries, "logcumsumexp", of_first<contiguous_like, std::int64_t>);
    add(libraries, "_cdist_forward", &distances);
    add(libraries, "_cdist_backward", of_second<contiguous_like, const Tensor&, double, const Tensor&>);
    add(libraries, "multinomial", &multinomial);
}

}  // namespace rematlas::meta
