#include <ATen/ops/empty.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

/// Returns the type of the statistics. On a GPU this is the type in which sums are accumulated. On the host
/// it is float32 if a parameter is float32, else the type of the input.
c10::ScalarType statistics_type(const Tensor& input, std::initializer_list<OptionalTensor> parameters) {
    if (!target_is_cpu()) return accumulated(input.scalar_type());
    for (const OptionalTensor& parameter : parameters)
        if (given(parameter) && parameter->scalar_type() == c10::ScalarType::Float)
            return c10::ScalarType::Float;
    return input.scalar_type();
}

Three batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                 const OptionalTensor& mean, const OptionalTensor& variance, bool training, double, double) {
    const auto options = input.options().dtype(statistics_type(input, {weight, bias, mean, variance}));
    const Sizes kept{training ? input.size(1) : 0};
    return {like(input), at::empty(kept, options), at::empty(kept, options)};
}

Three batch_norm_in_place(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                          Tensor& mean, Tensor& variance, bool training, double momentum, double eps) {
    return batch_norm(input, weight, bias, mean, variance, training, momentum, eps);
}

Three batch_norm_untracked(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                           bool training, double momentum, double eps) {
    return batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}

Three batch_norm_backward(const Tensor&, const Tensor& input, const OptionalTensor& weight,
                          const OptionalTensor& mean, const OptionalTensor& variance, const OptionalTensor&,
                          const OptionalTensor&, bool, double, std::array<bool, 3> mask) {
    const auto options = input.options().dtype(statistics_type(input, {weight, mean, variance}));
    Three result;
    if (mask[0]) std::get<0>(result) = like(input);
    if (mask[1]) std::get<1>(result) = at::empty({input.size(1)}, options);
    if (mask[2]) std::get<2>(result) = at::empty({input.size(1)}, options);
    return result;
}

/// The last result is cuDNN's reserve space. It is empty, except in kernels that fuse an activation.
Four cudnn_batch_norm(const Tensor& input, const Tensor& weight, const OptionalTensor&, const OptionalTensor&,
                      const OptionalTensor&, bool training, double, double) {
    const Sizes kept{training ? weight.size(0) : 0};
    return {like(input), at::empty(kept, weight.options()), at::empty(kept, weight.options()),
            at::empty({0}, input.options().dtype(c10::ScalarType::Byte))};
}

Three cudnn_batch_norm_backward(const Tensor& input, const Tensor&, const Tensor& weight,
                                const OptionalTensor&, const OptionalTensor&, const OptionalTensor&,
                                const OptionalTensor&, double, const Tensor&) {
    return {like(input), at::empty(weight.sizes(), weight.options()),
            at::empty(weight.sizes(), weight.options())};
}

Sizes kept_of(const Tensor& input, IntArrayRef normalized) {
    Sizes kept = input.sizes().vec();
    TORCH_CHECK(normalized.size() <= kept.size(), "normalization over more axes than the input has");
    for (std::size_t i = kept.size() - normalized.size(); i < kept.size(); ++i) kept[i] = 1;
    return kept;
}

Three layer_norm(const Tensor& input, IntArrayRef normalized, const OptionalTensor& weight,
                 const OptionalTensor& bias, double) {
    const Sizes kept = kept_of(input, normalized);
    const auto options = input.options().dtype(statistics_type(input, {weight, bias}));
    return {contiguous_like(input), at::empty(kept, options), at::empty(kept, options)};
}

Three layer_norm_backward(const Tensor&, const Tensor& input, IntArrayRef, const Tensor&, const Tensor&,
                          const OptionalTensor& weight, const OptionalTensor& bias,
                          std::array<bool, 3> mask) {
    Three result;
    if (mask[0]) std::get<0>(result) = contiguous_like(input);
    if (mask[1] && given(weight)) std::get<1>(result) = contiguous_like(*weight);
    if (mask[2] && given(bias)) std::get<2>(result) = contiguous_like(*bias);
    return result;
}

Two rms_norm(const Tensor& input, IntArrayRef normalized, const OptionalTensor&, std::optional<double>) {
    return {contiguous_like(input),
            at::empty(kept_of(input, normalized), input.options().dtype(accumulated(input.scalar_type())))};
}

Two rms_norm_backward(const Tensor&, const Tensor& input, IntArrayRef, const Tensor&,
                      const OptionalTensor& weight, std::array<bool, 2> mask) {
    return {mask[0] ? contiguous_like(input) : Tensor(),
            mask[1] && given(weight) ? contiguous_like(*weight) : Tensor()};
}

Three group_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                 std::int64_t batch, std::int64_t, std::int64_t, std::int64_t groups, double) {
    const auto options =
        input.options().dtype(target_is_cpu() ? statistics_type(input, {weight, bias}) : input.scalar_type());
    return {like(input), at::empty({batch, groups}, options), at::empty({batch, groups}, options)};
}

Three group_norm_backward(const Tensor&, const Tensor& input, const Tensor&, const Tensor&,
                          const OptionalTensor& weight, std::int64_t, std::int64_t channels, std::int64_t,
                          std::int64_t, std::array<bool, 3> mask) {
    const auto options = given(weight) ? weight->options() : input.options();
    Three result;
    if (mask[0]) std::get<0>(result) = like(input);
    if (mask[1]) std::get<1>(result) = at::empty({channels}, options);
    if (mask[2]) std::get<2>(result) = at::empty({channels}, options);
    return result;
}

Two weight_norm(const Tensor& v, const Tensor& g, std::int64_t) {
    return {contiguous_like(v), at::empty(g.sizes(), g.options().dtype(accumulated(g.scalar_type())))};
}

Two weight_norm_backward(const Tensor&, const Tensor& v, const Tensor& g, const Tensor&, std::int64_t) {
    return {contiguous_like(v), contiguous_like(g)};
}

}  // namespace

void add_normalizations(Libraries& libraries) {
    add(libraries, "native_batch_norm", &batch_norm);
    add(libraries, "_native_batch_norm_legit", &batch_norm_in_place);
    add(libraries, "_native_batch_norm_legit.no_stats", &batch_norm_untracked);
    add(libraries, "native_batch_norm_backward", &batch_norm_backward);
    add(libraries, "cudnn_batch_norm", &cudnn_batch_norm);
    add(libraries, "cudnn_batch_norm_backward", &cudnn_batch_norm_backward);
    add(libraries, "native_layer_norm", &layer_norm);
    add(libraries, "native_layer_norm_backward", &layer_norm_backward);
    add(libraries, "_fused_rms_norm", &rms_norm);
    add(libraries, "_fused_rms_norm_backward", &rms_norm_backward);
    add(libraries, "native_group_norm", &group_norm);
    add(libraries, "native_group_norm_backward", &group_norm_backward);
    add(libraries, "_weight_norm_interface", &weight_norm);
    add(libraries, "_weight_norm_interface_backward", &weight_norm_backward);
}

}  // namespace rematlas::meta
