#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/result_type.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

Tensor angle(const Tensor& self) {
    const c10::ScalarType dtype = c10::isIntegralType(self.scalar_type(), true)
                                      ? c10::ScalarType::Float
                                      : c10::toRealValueType(self.scalar_type());
    return at::empty_like(self, self.options().dtype(dtype));
}
Tensor absolute(const Tensor& self) {
    return at::empty_like(self, self.options().dtype(c10::toRealValueType(self.scalar_type())));
}
Tensor complex(const Tensor& left, const Tensor& right) {
    return pointwise({left, right}, c10::toComplexType(left.scalar_type()));
}
Tensor logical(const Tensor& left, const Tensor& right) {
    return pointwise({left, right}, c10::ScalarType::Bool);
}
Tensor is_nan(const Tensor& self) {
    return at::empty_like(self, self.options().dtype(c10::ScalarType::Bool));
}
Tensor hardtanh_backward(const Tensor& gradient, const Tensor& self, const at::Scalar&, const at::Scalar&) {
    return pointwise({gradient, self});
}
Tensor binary(const Tensor& left, const Tensor& right) {
    return pointwise({left, right});
}
Tensor promoted(const Tensor& left, const Tensor& right) {
    return pointwise({left, right}, at::result_type(left, right));
}
Tensor promoted_with(const Tensor& self, const at::Scalar& other) {
    return at::empty_like(self, self.options().dtype(at::result_type(self, other)));
}
Tensor remainder_of(const at::Scalar& self, const Tensor& other) {
    return promoted_with(other, self);
}
Two with_mask(const Tensor& self) {
    return {preserving(self), at::empty_like(self, self.options().dtype(c10::ScalarType::Bool))};
}

Two prelu_backward(const Tensor& gradient, const Tensor& self, const Tensor& weight) {
    return {pointwise({gradient, self, weight}), pointwise({gradient, self, weight})};
}

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
    return pointwise({condition, self, other}, at::result_type(self, other));
}

Tensor safe_softmax(const Tensor& self, std::int64_t, std::optional<c10::ScalarType> dtype) {
    return at::empty_like(self, self.options().dtype(dtype.value_or(self.scalar_type())),
                          at::MemoryFormat::Contiguous);
}

/// The second result is a buffer. Only the kernel of the host uses it; for other devices it is empty.
Two log_sigmoid(const Tensor& self) {
    return {preserving(self), target_is_cpu() ? preserving(self) : at::empty({0}, self.options())};
}

Tensor glu_backward(const Tensor&, const Tensor& self, std::int64_t) {
    return at::empty(self.sizes(), self.options());
}

/// The kernel of the host rolls one axis after the other; for each axis it concatenates two parts.
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef axes) {
    if (!target_is_cpu()) return contiguous_like(self);
    if (self.numel() == 0) return preserving(self);
    if (axes.empty()) return meta::roll(self.contiguous().view(self.numel()), shifts, {0}).view(self.sizes());
    Tensor result = self;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t size = self.size(axes[i]), shift = ((shifts[i] % size) + size) % size;
        const std::int64_t start = (size - shift) % size;
        result =
            at::cat({result.narrow(axes[i], start, size - start), result.narrow(axes[i], 0, start)}, axes[i]);
    }
    return result;
}

Tensor dropout_backward(const Tensor& gradient, const Tensor& mask, double) {
    return pointwise({gradient, mask});
}

}  // namespace

void add_elementwise(Libraries& libraries) {
    for (const char* name : {"relu", "hardswish"}) add(libraries, name, &preserving);
    add(libraries, "angle", &angle);
    for (const char* name : {"isnan", "logical_not"}) add(libraries, name, &is_nan);
    add(libraries, "abs", &absolute);
    for (const char* name : {"complex", "polar"}) add(libraries, name, &complex);
    for (const char* name : {"logical_and", "logical_or", "logical_xor"}) add(libraries, name, &logical);
    for (const char* name : {"logical_and_", "logical_or_", "logical_xor_"})
        add(libraries, name, in_place<const Tensor&>);
    for (const char* name : {"floor_divide", "__lshift__.Tensor", "__rshift__.Tensor"})
        add(libraries, name, &promoted);
    for (const char* name : {"floor_divide_.Tensor", "__ilshift__.Tensor", "__irshift__.Tensor"})
        add(libraries, name, in_place<const Tensor&>);
    for (const char* name : {"__lshift__.Scalar", "__rshift__.Scalar"}) add(libraries, name, &promoted_with);
    for (const char* name : {"__ilshift__.Scalar", "__irshift__.Scalar"})
        add(libraries, name, in_place<const at::Scalar&>);
    add(libraries, "remainder.Scalar_Tensor", &remainder_of);
    add(libraries, "nan_to_num",
        of_first<preserving, std::optional<double>, std::optional<double>, std::optional<double>>);
    add(libraries, "fake_quantize_per_tensor_affine_cachemask",
        of_first<with_mask, double, std::int64_t, std::int64_t, std::int64_t>);
    add(libraries, "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        of_first<with_mask, const Tensor&, const Tensor&, const Tensor&, std::int64_t, std::int64_t>);
    add(libraries, "fake_quantize_per_channel_affine_cachemask",
        of_first<with_mask, const Tensor&, const Tensor&, std::int64_t, std::int64_t, std::int64_t>);
    // The samples of distributions are contiguous.
    for (const char* name : {"_standard_gamma", "poisson", "_sample_dirichlet"})
        add(libraries, name, of_first<contiguous_like, std::optional<at::Generator>>);
    add(libraries, "binomial", of_first<contiguous_like, const Tensor&, std::optional<at::Generator>>);
    add(libraries, "_standard_gamma_grad", &binary);
    add(libraries, "_dirichlet_grad", of_first<contiguous_like, const Tensor&, const Tensor&>);
    add(libraries, "_safe_softmax", &safe_softmax);
    add(libraries, "logit", of_first<preserving, std::optional<double>>);
    add(libraries, "hardtanh", of_first<preserving, const at::Scalar&, const at::Scalar&>);
    add(libraries, "hardtanh_backward", &hardtanh_backward);
    add(libraries, "hardswish_backward", &binary);
    add(libraries, "_prelu_kernel", &binary);
    add(libraries, "_prelu_kernel_backward", &prelu_backward);
    add(libraries, "where.self", &where);
    add(libraries, "log_sigmoid_forward", &log_sigmoid);
    add(libraries, "log_sigmoid_backward", of_first<preserving, const Tensor&, const Tensor&>);
    add(libraries, "rrelu_with_noise",
        of_first<contiguous_like, Tensor&, const at::Scalar&, const at::Scalar&, bool,
                 std::optional<at::Generator>>);
    add(libraries, "glu_backward", &glu_backward);
    add(libraries, "flip", of_first<preserving, IntArrayRef>);
    add(libraries, "roll", &roll);
    add(libraries, "native_dropout", of_first<with_mask, double, std::optional<bool>>);
    add(libraries, "native_dropout_backward", &dropout_backward);
}

}  // namespace rematlas::meta
