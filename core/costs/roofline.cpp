#include "core/costs/roofline.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace rematlas {
namespace {

double elements(const std::vector<std::int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
}

/// Returns the size of an axis counted from the end (1: the last axis); 1 if the tensor has no such axis.
double from_end(const ShapeOf& shape, std::size_t axis) {
    return axis <= shape.sizes.size() ? static_cast<double>(shape.sizes[shape.sizes.size() - axis]) : 1.0;
}

/// Returns the flops of a product: 2 m k n for each matrix of the batch. The left operand has m k elements
/// per matrix; n is the last axis of the right operand.
double product(const ShapeOf& left, const ShapeOf& right) {
    return 2.0 * elements(left.sizes) * from_end(right, 1);
}

/// Returns the flops of a convolution. Each element of the output (of the input if the convolution is
/// transposed) takes a multiplication and an addition for each weight of its channel.
double convolution(const ShapeOf& input, const ShapeOf& weight, double output_elements) {
    if (weight.sizes.empty() || input.sizes.size() < 2) return 0;
    const double per_channel = elements(weight.sizes) / static_cast<double>(weight.sizes[0]);
    // In a transposed convolution, the first axis of the weight is the input's channels.
    const bool transposed = weight.sizes[0] == input.sizes[1] && weight.sizes[1] != input.sizes[1] &&
                            output_elements > elements(input.sizes);
    return 2.0 * per_channel * (transposed ? elements(input.sizes) : output_elements);
}

/// Returns the flops of attention. It makes two products, and each takes 2 x batch x heads x queries x keys x
/// width flops. The kernels of causal attention skip the masked half (Dao, FlashAttention-2, 2023,
/// section 3.1).
double attention(const ShapeOf& query, const ShapeOf& key, bool causal) {
    return (causal ? 2.0 : 4.0) * elements(query.sizes) * from_end(key, 2);
}

struct Elementwise {
    std::string_view word;  ///< a part of the op's name
    double flops;           ///< per element; a transcendental function takes about twenty
};
constexpr std::array<Elementwise, 16> elementwise{{{"gelu", 40},
                                                   {"softmax", 25},
                                                   {"tanh", 20},
                                                   {"sigmoid", 20},
                                                   {"silu", 25},
                                                   {"exp", 20},
                                                   {"log", 20},
                                                   {"erf", 20},
                                                   {"pow", 30},
                                                   {"bernoulli", 40},
                                                   {"dropout", 40},
                                                   {"rand", 40},
                                                   {"normal", 60},
                                                   {"layer_norm", 8},
                                                   {"batch_norm", 8},
                                                   {"group_norm", 8}}};

double flops_per_element(const std::string& name) {
    for (const Elementwise& entry : elementwise)
        if (name.find(entry.word) != name.npos) return entry.flops;
    return 1;
}

bool is(const std::string& name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), std::string_view(name).substr(name.rfind(':') + 1)) !=
           names.end();
}

double rate_of(const std::map<std::string, double>& rates, const std::string& dtype) {
    const auto found = rates.find(dtype);
    return found != rates.end() ? found->second : rates.at("f32");
}

}  // namespace

Work work_of(const OpCall& call) {
    const auto argument = [&](std::size_t i) {
        return i < call.arguments.size() ? call.arguments[i] : ShapeOf{};
    };
    const std::string& name = call.name;
    if (is(name, {"mm", "bmm", "mv", "dot"})) return {Engine::matmul, product(argument(0), argument(1))};
    if (is(name, {"addmm", "baddbmm", "addmv", "addmm_", "baddbmm_"}))
        return {Engine::matmul, product(argument(1), argument(2))};
    if (is(name, {"linear", "mkldnn_linear"}))
        return {Engine::matmul, 2.0 * elements(argument(0).sizes) * from_end(argument(1), 2)};
    if (is(name, {"convolution", "_convolution"}))
        return {Engine::convolution, convolution(argument(0), argument(1), call.elements_written)};
    if (is(name, {"convolution_backward"}))
        return {Engine::convolution,
                call.gradients * convolution(argument(1), argument(2), elements(argument(0).sizes))};
    if (name.find("_scaled_dot_product_") != name.npos) {
        // The backward makes five products where the forward makes two (Dao, FlashAttention-2, 2023).
        const bool backward = name.find("_backward") != name.npos;
        return {Engine::attention, backward ? 2.5 * attention(argument(1), argument(2), call.causal)
                                            : attention(argument(0), argument(1), call.causal)};
    }
    if (name.find("rnn_layer") != name.npos) {
        const double rows = elements(argument(0).sizes) / from_end(argument(0), 1);
        const double weights = elements(argument(1).sizes) + elements(argument(2).sizes);
        return {Engine::matmul, (name.find("_backward") != name.npos ? 4.0 : 2.0) * rows * weights};
    }
    double read = 0;
    for (const ShapeOf& shape : call.arguments) read = std::max(read, elements(shape.sizes));
    return {Engine::vector, std::max(read, call.elements_written) * flops_per_element(name)};
}

Nanoseconds roofline(const DeviceProfile& profile, const OpCall& call) {
    const Work work = work_of(call);
    const std::string dtype = call.arguments.empty() ? "f32" : call.arguments.front().dtype;
    double rate = rate_of(profile.vector_flops, dtype);
    if (work.engine == Engine::matmul) {
        const auto share = profile.matmul_efficiencies.find(dtype);
        rate = rate_of(profile.matmul_flops, dtype) *
               (share == profile.matmul_efficiencies.end() ? profile.matmul_efficiency : share->second);
    }
    if (work.engine == Engine::attention)
        rate = rate_of(profile.matmul_flops, dtype) * profile.attention_efficiency;
    if (work.engine == Engine::convolution)
        rate = rate_of(profile.convolution_flops, dtype) * profile.convolution_efficiency;
    const double computing = work.flops / rate;
    const double moving = (call.bytes_read + call.bytes_written) /
                          (profile.memory_bytes_per_second * profile.memory_efficiency);
    const double seconds = std::min(std::max(computing, moving), 1e6);
    return Nanoseconds(
        std::max<std::int64_t>(1, profile.launch.value + static_cast<std::int64_t>(seconds * 1e9)));
}

}  // namespace rematlas
