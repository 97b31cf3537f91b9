// Fused attention. Queries are [batch, heads, length, width].
#include <ATen/ops/empty.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

/// Returns a tensor in the layout [batch, length, heads, width], in which the kernels make their results.
Tensor heads_inside(const Tensor& self, std::int64_t width) {
    return at::empty({self.size(0), self.size(2), self.size(1), width}, self.options()).transpose(1, 2);
}
Tensor heads_inside(const Tensor& self) {
    return heads_inside(self, self.size(3));
}

Two on_host(const Tensor& query, const Tensor&, const Tensor&, double, bool, const OptionalTensor&,
            std::optional<double>) {
    const auto sums = query.options().dtype(accumulated(query.scalar_type()));
    return {preserving(query),
            at::empty({query.size(0), query.size(2), query.size(1)}, sums).transpose(1, 2)};
}
Three on_host_backward(const Tensor&, const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor&, const Tensor&, double, bool, const OptionalTensor&,
                       std::optional<double>) {
    return {heads_inside(query), heads_inside(key), heads_inside(value)};
}

/// Returns the seed or the offset of the generator, on the device.
Tensor random_state(const Tensor& query, IntArrayRef sizes, c10::ScalarType dtype) {
    return at::empty(sizes, query.options().dtype(dtype));
}

/// FlashAttention-2 gives its result the layout of the queries, and each gradient the layout of the query,
/// key or value to which it belongs. A width that is not a multiple of 8 is padded first. The padded copies,
/// and so the results, have the layout [batch, length, heads, width].
Tensor as_flash(const Tensor& self) {
    return self.size(3) % 8 == 0 ? preserving(self) : heads_inside(self);
}

/// FlashAttention-2 keeps the log-sum-exp of each query for the backward.
std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> flash(
    const Tensor& query, const Tensor& key, const Tensor& value, double, bool, bool, std::optional<double>) {
    const Tensor output =
        value.size(3) == query.size(3) ? as_flash(query) : heads_inside(query, value.size(3));
    const Tensor sums = at::empty({query.size(0), query.size(1), query.size(2)},
                                  query.options().dtype(c10::ScalarType::Float));
    return {output,
            sums,
            Tensor(),
            Tensor(),
            c10::SymInt(query.size(2)),
            c10::SymInt(key.size(2)),
            random_state(query, {2}, c10::ScalarType::UInt64),
            random_state(query, {}, c10::ScalarType::UInt64),
            at::empty({0}, query.options())};
}
Three flash_backward(const Tensor&, const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::int64_t, std::int64_t,
                     double, bool, const Tensor&, const Tensor&, std::optional<double>) {
    return {as_flash(query), as_flash(key), as_flash(value)};
}

/// The memory-efficient kernel keeps the log-sum-exp of each query, padded to a multiple of 32 queries.
Four efficient(const Tensor& query, const Tensor&, const Tensor& value, const OptionalTensor&,
               bool sums_wanted, double, bool, std::optional<double>) {
    const std::int64_t steps = sums_wanted ? (query.size(2) + 31) / 32 * 32 : 0;
    return {heads_inside(query, value.size(3)),
            at::empty({query.size(0), query.size(1), steps}, query.options().dtype(c10::ScalarType::Float)),
            random_state(query, {}, c10::ScalarType::Long), random_state(query, {}, c10::ScalarType::Long)};
}
Four efficient_backward(const Tensor&, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& bias, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        double, std::array<bool, 4> mask, bool, std::optional<double>) {
    Tensor of_bias;
    if (mask[3] && bias.defined()) {
        // The rows are padded to a multiple of 16 elements.
        Sizes sizes = bias.sizes().vec();
        const std::int64_t columns = sizes.back();
        sizes.back() = (columns + 15) / 16 * 16;
        of_bias = at::empty(sizes, bias.options()).narrow(-1, 0, columns);
    }
    return {heads_inside(query), heads_inside(key), heads_inside(value), of_bias};
}

/// cuDNN gives its result the layout of the queries.
std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> cudnn(
    const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor&, bool sums_wanted,
    double, bool, bool, std::optional<double>) {
    const std::int64_t width = value.size(3);
    const Tensor output = width == query.size(3) ? preserving(query) : heads_inside(query, width);
    const Tensor sums = sums_wanted ? at::empty({query.size(0), query.size(1), query.size(2), 1},
                                                query.options().dtype(c10::ScalarType::Float))
                                    : Tensor();
    return {output,
            sums,
            Tensor(),
            Tensor(),
            c10::SymInt(query.size(2)),
            c10::SymInt(key.size(2)),
            random_state(query, {}, c10::ScalarType::Long),
            random_state(query, {}, c10::ScalarType::Long),
            Tensor()};
}
Three cudnn_backward(const Tensor&, const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                     const Tensor&, c10::SymInt, c10::SymInt, double, bool, std::optional<double>) {
    return {preserving(query), preserving(key), preserving(value)};
}

}  // namespace

void add_attention(Libraries& libraries) {
    add(libraries, "_scaled_dot_product_flash_attention_for_cpu", &on_host);
    add(libraries, "_scaled_dot_product_flash_attention_for_cpu_backward", &on_host_backward);
    add(libraries, "_scaled_dot_product_flash_attention", &flash);
    add(libraries, "_scaled_dot_product_flash_attention_backward", &flash_backward);
    add(libraries, "_scaled_dot_product_cudnn_attention", &cudnn);
    add(libraries, "_scaled_dot_product_cudnn_attention_backward", &cudnn_backward);
    add(libraries, "_scaled_dot_product_efficient_attention", &efficient);
    add(libraries, "_scaled_dot_product_efficient_attention_backward", &efficient_backward);
}

}  // namespace rematlas::meta
