#include <ATen/native/ConvUtils.h>
#include <ATen/ops/empty.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

/// Returns the layout in which kernels work: channels-last if the input or the weight has this layout, except
/// for float64 on the host.
at::MemoryFormat format_of(const Tensor& input, const Tensor& weight) {
    if (target_is_cpu() && input.scalar_type() == c10::ScalarType::Double)
        return at::MemoryFormat::Contiguous;
    for (const Tensor& tensor : {input, weight}) {
        const at::MemoryFormat format = tensor.suggest_memory_format();
        if (format != at::MemoryFormat::Contiguous) return format;
    }
    return at::MemoryFormat::Contiguous;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor&, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   std::int64_t groups) {
    const std::int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
    TORCH_CHECK(input.dim() == weight.dim() && input.size(1) == channels, "convolution: an input with ",
                channels, " channels is expected, it has ", input.size(1));
    const Sizes sizes =
        transposed ? at::native::conv_input_size(input.sizes(), weight.sizes(), padding, output_padding,
                                                 stride, dilation, groups)
                   : at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
    for (std::int64_t size : sizes)
        TORCH_CHECK(size >= 0, "convolution: the kernel is larger than the input");
    return at::empty(sizes, input.options().memory_format(format_of(input, weight)));
}

/// Traced models call this op. Its additional flags only choose among kernels.
Tensor traced_convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                          IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                          IntArrayRef output_padding, std::int64_t groups, bool, bool, bool, bool) {
    return meta::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                             groups);
}

Three backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
               at::OptionalIntArrayRef bias_sizes, IntArrayRef, IntArrayRef, IntArrayRef, bool, IntArrayRef,
               std::int64_t, std::array<bool, 3> mask) {
    const at::MemoryFormat format = format_of(input, weight);
    Tensor of_input, of_weight, of_bias;
    if (mask[0]) of_input = at::empty(input.sizes(), input.options().memory_format(format));
    if (mask[1]) of_weight = at::empty(weight.sizes(), weight.options().memory_format(format));
    if (mask[2])
        of_bias = at::empty(bias_sizes ? *bias_sizes : IntArrayRef(gradient.size(1)), gradient.options());
    return {of_input, of_weight, of_bias};
}

}  // namespace

void add_convolutions(Libraries& libraries) {
    add(libraries, "convolution", &convolution);
    add(libraries, "_convolution", &traced_convolution);
    add(libraries, "convolution_backward", &backward);
}

}  // namespace rematlas::meta
