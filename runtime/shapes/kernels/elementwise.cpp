#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/result_type.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

Tensor unary(const Tensor& self) {
    return preserving(self);
}
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
Tensor logit(const Tensor& self, std::optional<double>) {
    return preserving(self);
}
Tensor hardtanh(const Tensor& self, const at::Scalar&, const at::Scalar&) {
    return preserving(self);
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
Tensor& in_place(Tensor& self, const Tensor&) {
    return self;
}
Tensor promoted_with(const Tensor& self, const at::Scalar& other) {
    return at::empty_like(self, self.options().dtype(at::result_type(self, other)));
}
Tensor& in_place_with(Tensor& self, const at::Scalar&) {
    return self;
}
Tensor remainder_of(const at::Scalar& self, const Tensor& other) {
    return promoted_with(other, self);
}
Tensor nan_to_num(const Tensor& self, std::optional<double>, std::optional<double>, std::optional<double>) {
    return preserving(self);
}
std::tuple<Tensor, Tensor> with_mask(const Tensor& self) {
    return {preserving(self), at::empty_like(self, self.options().dtype(c10::ScalarType::Bool))};
}
std::tuple<Tensor, Tensor> quantized_alike(const Tensor& self, double, std::int64_t, std::int64_t,
                                           std::int64_t) {
    return with_mask(self);
}
std::tuple<Tensor, Tensor> quantized_by_tensors(const Tensor& self, const Tensor&, const Tensor&,
                                                const Tensor&, std::int64_t, std::int64_t) {
    return with_mask(self);
}
std::tuple<Tensor, Tensor> quantized_by_channel(const Tensor& self, const Tensor&, const Tensor&,
                                                std::int64_t, std::int64_t, std::int64_t) {
    return with_mask(self);
}

/// The samples of distributions are contiguous.
Tensor drawn(const Tensor& self, std::optional<at::Generator>) {
    return contiguous_like(self);
}
Tensor drawn_of_two(const Tensor& self, const Tensor&, std::optional<at::Generator>) {
    return contiguous_like(self);
}
Tensor dirichlet_gradient(const Tensor& self, const Tensor&, const Tensor&) {
    return contiguous_like(self);
}

std::tuple<Tensor, Tensor> prelu_backward(const Tensor& gradient, const Tensor& self, const Tensor& weight) {
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
std::tuple<Tensor, Tensor> log_sigmoid(const Tensor& self) {
    return {preserving(self), target_is_cpu() ? preserving(self) : at::empty({0}, self.options())};
}
Tensor log_sigmoid_backward(const Tensor& gradient, const Tensor&, const Tensor&) {
    return preserving(gradient);
}

Tensor rrelu(const Tensor& self, Tensor&, const at::Scalar&, const at::Scalar&, bool,
             std::optional<at::Generator>) {
    return contiguous_like(self);
}

Tensor glu_backward(const Tensor&, const Tensor& self, std::int64_t) {
    return at::empty(self.sizes(), self.options());
}

Tensor flip(const Tensor& self, IntArrayRef) {
    return preserving(self);
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

std::tuple<Tensor, Tensor> dropout(const Tensor& self, double, std::optional<bool>) {
    return {preserving(self), at::empty_like(self, self.options().dtype(c10::ScalarType::Bool))};
}
Tensor dropout_backward(const Tensor& gradient, const Tensor& mask, double) {
    return pointwise({gradient, mask});
}

}  // namespace

void add_elementwise(Libraries& libraries) {
    for (const char* name : {"relu", "hardswish"}) add(libraries, name, &unary);
    add(libraries, "angle", &angle);
    for (const char* name : {"isnan", "logical_not"}) add(libraries, name, &is_nan);
    add(libraries, "abs", &absolute);
    for (const char* name : {"complex", "polar"}) add(libraries, name, &complex);
    for (const char* name : {"logical_and", "logical_or", "logical_xor"}) add(libraries, name, &logical);
    for (const char* name : {"logical_and_", "logical_or_", "logical_xor_"}) add(libraries, name, &in_place);
    for (const char* name : {"floor_divide", "__lshift__.Tensor", "__rshift__.Tensor"})
        add(libraries, name, &promoted);
    for (const char* name : {"floor_divide_.Tensor", "__ilshift__.Tensor", "__irshift__.Tensor"})
        add(libraries, name, &in_place);
    for (const char* name : {"__lshift__.Scalar", "__rshift__.Scalar"}) add(libraries, name, &promoted_with);
    for (const char* name : {"__ilshift__.Scalar", "__irshift__.Scalar"})
        add(libraries, name, &in_place_with);
    add(libraries, "remainder.Scalar_Tensor", &remainder_of);
    add(libraries, "nan_to_num", &nan_to_num);
    add(libraries, "fake_quantize_per_tensor_affine_cachemask", &quantized_alike);
    add(libraries, "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", &quantized_by_tensors);
    add(libraries, "fake_quantize_per_channel_affine_cachemask", &quantized_by_channel);
    for (const char* name : {"_standard_gamma", "poisson", "_sample_dirichlet"}) add(libraries, name, &drawn);
    add(libraries, "binomial", &drawn_of_two);
    add(libraries, "_standard_gamma_grad", &binary);
    add(libraries, "_dirichlet_grad", &dirichlet_gradient);
    add(libraries, "_safe_softmax", &safe_softmax);
    add(libraries, "logit", &logit);
    add(libraries, "hardtanh", &hardtanh);
    add(libraries, "hardtanh_backward", &hardtanh_backward);
    add(libraries, "hardswish_backward", &binary);
    add(libraries, "_prelu_kernel", &binary);
    add(libraries, "_prelu_kernel_backward", &prelu_backward);
    add(libraries, "where.self", &where);
    add(libraries, "log_sigmoid_forward", &log_sigmoid);
    add(libraries, "log_sigmoid_backward", &log_sigmoid_backward);
    add(libraries, "rrelu_with_noise", &rrelu);
    add(libraries, "glu_backward", &glu_backward);
    add(libraries, "flip", &flip);
    add(libraries, "roll", &roll);
    add(libraries, "native_dropout", &dropout);
    add(libraries, "native_dropout_backward", &dropout_backward);
}

}  // namespace rematlas::meta
