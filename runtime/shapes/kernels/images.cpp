// Poolings, paddings, grids and other rearrangements of images.
#include <ATen/native/Pool.h>
#include <ATen/ops/empty.h>

#include <numeric>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

/// Returns a tensor with the sizes of the input, except that the last axes have the sizes `last`. Its memory
/// format is the one that the input suggests.
Tensor with_last(const Tensor& input, IntArrayRef last, std::optional<c10::ScalarType> dtype = {}) {
    Sizes sizes = input.sizes().vec();
    TORCH_CHECK(last.size() <= sizes.size(), "an image of ", last.size(), " dimensions at least is expected");
    std::copy(last.begin(), last.end(), sizes.end() - static_cast<std::ptrdiff_t>(last.size()));
    for (std::int64_t size : sizes) TORCH_CHECK(size >= 0, "the result would have a negative size");
    return at::empty(sizes, input.options()
                                .dtype(dtype.value_or(input.scalar_type()))
                                .memory_format(input.suggest_memory_format()));
}

Tensor adaptive_average(const Tensor& input, IntArrayRef output) {
    return with_last(input, output);
}

Two max_pool3d(const Tensor& input, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
               IntArrayRef dilation, bool ceil) {
    Sizes output;
    const auto at = [](IntArrayRef list, std::size_t i) { return list.size() == 1 ? list[0] : list[i]; };
    for (std::size_t i = 0; i < 3; ++i) {
        output.push_back(at::native::pooling_output_shape<std::int64_t>(
            input.size(static_cast<std::int64_t>(i) - 3), at(kernel, i), at(padding, i),
            stride.empty() ? at(kernel, i) : at(stride, i), at(dilation, i), ceil));
    }
    return {with_last(input, output), with_last(input, output, c10::ScalarType::Long)};
}

Tensor unpool2d(const Tensor& input, const Tensor&, IntArrayRef output) {
    return with_last(input, output);
}
Tensor unpool3d(const Tensor& input, const Tensor&, IntArrayRef output, IntArrayRef, IntArrayRef) {
    return with_last(input, output);
}

/// `padding` has two numbers for each axis; the last axis comes first.
Tensor pad(const Tensor& input, IntArrayRef padding) {
    Sizes output(padding.size() / 2);
    for (std::size_t i = 0; i < output.size(); ++i) {
        const std::size_t from_end = output.size() - i;
        output[i] = input.size(-static_cast<std::int64_t>(from_end)) + padding[2 * from_end - 2] +
                    padding[2 * from_end - 1];
    }
    return with_last(input, output);
}

Tensor sample2d(const Tensor& input, const Tensor& grid, std::int64_t, std::int64_t, bool) {
    return at::empty({input.size(0), input.size(1), grid.size(1), grid.size(2)}, input.options());
}
Tensor sample3d(const Tensor& input, const Tensor& grid, std::int64_t, std::int64_t, bool) {
    return at::empty({input.size(0), input.size(1), grid.size(1), grid.size(2), grid.size(3)},
                     input.options());
}
Two sample_backward(const Tensor&, const Tensor& input, const Tensor& grid, std::int64_t, std::int64_t, bool,
                    std::array<bool, 2> mask) {
    return {mask[0] ? contiguous_like(input) : Tensor(), contiguous_like(grid)};
}

std::int64_t product_of(IntArrayRef list) {
    return std::accumulate(list.begin(), list.end(), std::int64_t{1}, std::multiplies<>());
}

Tensor im2col(const Tensor& input, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
    std::int64_t positions = 1;
    for (std::size_t i = 0; i < 2; ++i)
        positions *= (input.size(static_cast<std::int64_t>(i) - 2) + 2 * padding[i] -
                      (dilation[i] * (kernel[i] - 1) + 1)) /
                         stride[i] +
                     1;
    Sizes sizes{input.size(-3) * product_of(kernel), positions};
    if (input.dim() == 4) sizes.insert(sizes.begin(), input.size(0));
    return contiguous_like(input).resize_(sizes);
}
/// The kernel first makes a tensor like the input, then resizes it to the result. If the result is smaller,
/// it still takes the bytes of the first tensor.
Tensor col2im(const Tensor& input, IntArrayRef output, IntArrayRef kernel, IntArrayRef, IntArrayRef,
              IntArrayRef) {
    Sizes sizes{input.size(-2) / product_of(kernel), output[0], output[1]};
    if (input.dim() == 3) sizes.insert(sizes.begin(), input.size(0));
    return contiguous_like(input).resize_(sizes);
}

Tensor pixel_shuffle(const Tensor& input, std::int64_t factor) {
    return with_last(input,
                     {input.size(-3) / (factor * factor), input.size(-2) * factor, input.size(-1) * factor});
}
Tensor pixel_unshuffle(const Tensor& input, std::int64_t factor) {
    return with_last(input,
                     {input.size(-3) * factor * factor, input.size(-2) / factor, input.size(-1) / factor});
}

}  // namespace

void add_images(Libraries& libraries) {
    add(libraries, "_adaptive_avg_pool2d", &adaptive_average);
    add(libraries, "_adaptive_avg_pool3d", &adaptive_average);
    add(libraries, "_adaptive_avg_pool2d_backward", of_second<like>);
    add(libraries, "_adaptive_avg_pool3d_backward", of_second<like>);
    add(libraries, "max_pool3d_with_indices", &max_pool3d);
    add(libraries, "max_pool3d_with_indices_backward",
        of_second<like, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool, const Tensor&>);
    add(libraries, "max_unpool2d", &unpool2d);
    add(libraries, "max_unpool3d", &unpool3d);
    add(libraries, "reflection_pad2d", &pad);
    add(libraries, "reflection_pad2d_backward", of_second<like, IntArrayRef>);
    add(libraries, "replication_pad2d_backward", of_second<like, IntArrayRef>);
    add(libraries, "replication_pad3d_backward", of_second<like, IntArrayRef>);
    add(libraries, "grid_sampler_2d", &sample2d);
    add(libraries, "grid_sampler_3d", &sample3d);
    add(libraries, "grid_sampler_2d_backward", &sample_backward);
    add(libraries, "grid_sampler_3d_backward", &sample_backward);
    add(libraries, "im2col", &im2col);
    add(libraries, "col2im", &col2im);
    add(libraries, "pixel_shuffle", &pixel_shuffle);
    add(libraries, "pixel_unshuffle", &pixel_unshuffle);
    add(libraries, "channel_shuffle", of_first<like, std::int64_t>);
}

}  // namespace rematlas::meta
