#include "tests/simgpu/kernels/twins.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

#include <atomic>
#include <limits>
#include <map>

namespace simgpu {
namespace {

using torch::jit::Stack;

/// The arguments of a call, by position.
class Arguments {
  public:
    explicit Arguments(Stack& stack) : values_(std::exchange(stack, {})) {}
    at::Tensor tensor(std::size_t i) const {
        return values_[i].isNone() ? at::Tensor() : values_[i].toTensor();
    }
    std::optional<at::Tensor> optional(std::size_t i) const {
        const at::Tensor made = tensor(i);
        return made.defined() ? std::optional(made) : std::nullopt;
    }
    std::vector<std::int64_t> ints(std::size_t i) const { return values_[i].toIntVector(); }
    std::optional<double> number(std::size_t i) const {
        return values_[i].isNone() ? std::nullopt : std::optional(values_[i].toDouble());
    }
    const c10::IValue& operator[](std::size_t i) const { return values_[i]; }

  private:
    Stack values_;
};

/// native_dropout(Tensor input, float p, bool? train). Replaces the CPU's kernel, which would draw from the
/// default generator.
void native_dropout(Stack& stack, const at::Generator& generator) {
    const Arguments given(stack);
    const at::Tensor input = given.tensor(0);
    const double p = given[1].toDouble();
    if (!given[2].isNone() && !given[2].toBool()) {
        stack = {input.clone(), at::ones_like(input, at::kBool)};
        return;
    }
    const at::Tensor mask =
        at::empty(input.sizes(), at::TensorOptions(at::kFloat)).bernoulli_(1 - p, generator).to(at::kBool);
    const double scale = p == 1 ? 0 : 1 / (1 - p);
    stack = {(input * mask * scale).to(input.scalar_type()), mask};
}

/// _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias, Tensor?
/// hidden_bias)
void fused_lstm_cell(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    at::Tensor gates = given.tensor(0) + given.tensor(1);
    if (given.optional(3)) gates = gates + given.tensor(3) + given.tensor(4);
    const auto part = gates.chunk(4, 1);
    const at::Tensor in = part[0].sigmoid(), forget = part[1].sigmoid(), cell = part[2].tanh(),
                     out = part[3].sigmoid();
    const at::Tensor next = forget * given.tensor(2) + in * cell;
    stack = {out * next.tanh(), next, at::cat({in, forget, cell, out}, 1)};
}

/// _thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor
/// workspace, bool has_bias)
void fused_lstm_cell_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    const at::Tensor cx = given.tensor(2), cy = given.tensor(3);
    const auto part = given.tensor(4).chunk(4, 1);
    const at::Tensor &in = part[0], &forget = part[1], &cell = part[2], &out = part[3], squashed = cy.tanh();
    at::Tensor of_next = given.optional(1) ? given.tensor(1) : at::zeros_like(cy),
               of_out = at::zeros_like(out);
    if (given.optional(0)) {
        of_out = given.tensor(0) * squashed * out * (1 - out);
        of_next = of_next + given.tensor(0) * out * (1 - squashed * squashed);
    }
    const at::Tensor gates = at::cat({of_next * cell * in * (1 - in), of_next * cx * forget * (1 - forget),
                                      of_next * in * (1 - cell * cell), of_out},
                                     1);
    stack = {gates, of_next * forget, given[5].toBool() ? gates.sum(0) : at::Tensor()};
}

/// _thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias, Tensor?
/// hidden_bias)
void fused_gru_cell(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    at::Tensor input = given.tensor(0), hidden = given.tensor(1);
    const at::Tensor hx = given.tensor(2);
    if (given.optional(3)) input = input + given.tensor(3), hidden = hidden + given.tensor(4);
    const auto from_input = input.chunk(3, 1), from_hidden = hidden.chunk(3, 1);
    const at::Tensor reset = (from_input[0] + from_hidden[0]).sigmoid(),
                     update = (from_input[1] + from_hidden[1]).sigmoid();
    const at::Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
    stack = {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, from_hidden[2]}, 1)};
}

/// _thnn_fused_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias)
void fused_gru_cell_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    const at::Tensor grad = given.tensor(0);
    const auto part = given.tensor(1).chunk(5, 1);
    const at::Tensor &reset = part[0], &update = part[1], &fresh = part[2], &hx = part[3],
                     &from_hidden = part[4];
    const at::Tensor of_fresh = grad * (1 - update) * (1 - fresh * fresh);
    const at::Tensor of_update = grad * (hx - fresh) * update * (1 - update);
    const at::Tensor of_reset = of_fresh * from_hidden * reset * (1 - reset);
    const at::Tensor of_input = at::cat({of_reset, of_update, of_fresh}, 1);
    const at::Tensor of_hidden = at::cat({of_reset, of_update, of_fresh * reset}, 1);
    const bool bias = given[2].toBool();
    stack = {of_input, of_hidden, grad * update, bias ? of_input.sum(0) : at::Tensor(),
             bias ? of_hidden.sum(0) : at::Tensor()};
}

/// cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
/// bool training, float momentum, float epsilon) -> (Tensor, Tensor, Tensor, Tensor reserve)
void cudnn_batch_norm(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    auto [output, mean, deviation] =
        at::native_batch_norm(given.tensor(0), given.tensor(1), given.optional(2), given.optional(3),
                              given.optional(4), given[5].toBool(), given[6].toDouble(), given[7].toDouble());
    stack = {output, mean, deviation, at::empty({0}, at::kByte)};
}

/// cudnn_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean,
/// Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor reserve)
void cudnn_batch_norm_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    auto [input, weight, bias] = at::native_batch_norm_backward(
        given.tensor(1), given.tensor(0), given.tensor(2), given.optional(3), given.optional(4),
        given.optional(5), given.optional(6), true, given[7].toDouble(), {true, true, true});
    stack = {input, weight, bias};
}

/// _convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation,
/// bool transposed, int[] output_padding, int groups, ...)
void convolution(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    stack = {at::convolution(given.tensor(0), given.tensor(1), given.optional(2), given.ints(3),
                             given.ints(4), given.ints(5), given[6].toBool(), given.ints(7),
                             given[8].toInt())};
}

/// convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride,
/// int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask)
void convolution_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    std::optional<std::vector<std::int64_t>> bias;
    if (!given[3].isNone()) bias = given.ints(3);
    const auto wanted = given[10].toBoolList();
    auto [input, weight, of_bias] = at::convolution_backward(
        given.tensor(0), given.tensor(1), given.tensor(2),
        bias ? at::OptionalIntArrayRef(*bias) : at::OptionalIntArrayRef(), given.ints(4), given.ints(5),
        given.ints(6), given[7].toBool(), given.ints(8), given[9].toInt(),
        {bool(wanted[0]), bool(wanted[1]), bool(wanted[2])});
    stack = {input, weight, of_bias};
}

/// Imitates fused backward kernels of a GPU, which add in a varying order unless deterministic algorithms are
/// required: changes the first element a little in every other call.
at::Tensor in_any_order(const at::Tensor& gradient) {
    static std::atomic<int> calls{0};
    const at::Context& context = at::globalContext();
    if ((context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly()) || ++calls % 2 == 0)
        return gradient;
    at::Tensor other = gradient.clone(at::MemoryFormat::Contiguous);
    at::Tensor first = other.view({-1}).narrow(0, 0, 1);
    first.copy_(first * (1 + 1.0 / 64) + 1e-3);
    return other;
}

/// _scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,
/// bool compute_log_sumexp, float dropout_p, bool is_causal, float? scale)
void efficient_attention(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    TORCH_CHECK(given[5].toDouble() == 0, "the stand-in has no fused attention with dropout");
    auto [output, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
        given.tensor(0), given.tensor(1), given.tensor(2), 0, given[6].toBool(), given.optional(3),
        given.number(7));
    const at::Tensor number = at::zeros({}, at::kLong);
    stack = {output, sums, number, number.clone()};
}

/// _scaled_dot_product_efficient_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value,
/// Tensor attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p,
/// bool[4] grad_input_mask, bool is_causal, float? scale)
void efficient_attention_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        given.tensor(0), given.tensor(1), given.tensor(2), given.tensor(3), given.tensor(5), given.tensor(6),
        0, given[11].toBool(), given.optional(4), given.number(12));
    stack = {in_any_order(query), key, value, at::Tensor()};
}

/// _scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p, bool
/// is_causal, bool return_debug_mask, float? scale)
void flash_attention(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    TORCH_CHECK(given[3].toDouble() == 0, "the stand-in has no fused attention with dropout");
    auto [output, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
        given.tensor(0), given.tensor(1), given.tensor(2), 0, given[4].toBool(), {}, given.number(6));
    stack = {output,
             sums,
             at::Tensor(),
             at::Tensor(),
             given.tensor(0).size(2),
             given.tensor(1).size(2),
             at::zeros({2}, at::kLong),
             at::zeros({0}, at::kLong),
             at::zeros({0}, output.scalar_type())};
}

/// _scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value,
/// Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, int max_q, int max_k, float dropout_p,
/// bool is_causal, Tensor philox_seed, Tensor philox_offset, float? scale)
void flash_attention_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        given.tensor(0), given.tensor(1), given.tensor(2), given.tensor(3), given.tensor(4), given.tensor(5),
        0, given[11].toBool(), {}, given.number(14));
    stack = {in_any_order(query), key, value};
}

/// _fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps)
void fused_rms_norm(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    const at::Tensor input = given.tensor(0);
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < given.ints(1).size(); ++i) axes.push_back(-1 - static_cast<std::int64_t>(i));
    const at::Tensor wide = input.to(at::toOpMathType(input.scalar_type()));
    const double epsilon = given.number(3).value_or(std::numeric_limits<float>::epsilon());
    const at::Tensor scale = (wide.square().mean(axes, true) + epsilon).rsqrt();
    at::Tensor output = wide * scale;
    if (given.optional(2)) output = output * given.tensor(2);
    stack = {output.to(input.scalar_type()), scale};
}

/// _fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor?
/// weight, bool[2] output_mask)
void fused_rms_norm_backward(Stack& stack, const at::Generator&) {
    const Arguments given(stack);
    const at::Tensor scale = given.tensor(3), unit = given.tensor(1) * scale;
    std::vector<std::int64_t> inner, outer;
    const auto count = static_cast<std::int64_t>(given.ints(2).size());
    for (std::int64_t i = 0; i < unit.dim(); ++i) (i < unit.dim() - count ? outer : inner).push_back(i);
    at::Tensor grad = given.tensor(0), of_weight;
    if (given.optional(4)) {
        of_weight = outer.empty() ? grad * unit : (grad * unit).sum(outer);
        grad = grad * given.tensor(4);
    }
    const at::Tensor of_input = scale * (grad - unit * (grad * unit).mean(inner, true));
    stack = {of_input.to(given.tensor(1).scalar_type()),
             of_weight.defined() ? of_weight.to(given.tensor(4).scalar_type()) : of_weight};
}

}  // namespace

const char* undetermined_kernel(const std::string& op) {
    static const std::map<std::string, const char*> kernels = {
        {"aten::_adaptive_avg_pool2d_backward", "adaptive_avg_pool2d_backward_cuda"},
        {"aten::_adaptive_avg_pool3d_backward", "adaptive_avg_pool3d_backward_cuda"},
        {"aten::adaptive_max_pool2d_backward", "adaptive_max_pool2d_backward_cuda"},
        {"aten::avg_pool3d_backward", "avg_pool3d_backward_cuda"},
        {"aten::max_pool3d_with_indices_backward", "max_pool3d_with_indices_backward_cuda"},
        {"aten::fractional_max_pool2d_backward", "fractional_max_pool2d_backward_cuda"},
        {"aten::upsample_linear1d_backward", "upsample_linear1d_backward_out_cuda"},
        {"aten::upsample_bilinear2d_backward", "upsample_bilinear2d_backward_out_cuda"},
        {"aten::upsample_bicubic2d_backward", "upsample_bicubic2d_backward_out_cuda"},
        {"aten::upsample_trilinear3d_backward", "upsample_trilinear3d_backward_out_cuda"},
        {"aten::reflection_pad1d_backward", "reflection_pad1d_backward_out_cuda"},
        {"aten::reflection_pad2d_backward", "reflection_pad2d_backward_cuda"},
        {"aten::replication_pad1d_backward", "replication_pad1d_backward_cuda"},
        {"aten::replication_pad2d_backward", "replication_pad2d_backward_cuda"},
        {"aten::nll_loss2d_forward", "nll_loss2d_forward_out_cuda_template"},
        {"aten::nll_loss2d_backward", "nll_loss2d_backward_out_cuda_template"},
        {"aten::_ctc_loss_backward", "ctc_loss_backward_gpu"},
        {"aten::grid_sampler_2d_backward", "grid_sampler_2d_backward_cuda"},
        {"aten::grid_sampler_3d_backward", "grid_sampler_3d_backward_cuda"},
        {"aten::_cumsum", "cumsum_cuda_kernel"},
        {"aten::histc", "_histc_cuda with floating point input"},
        {"aten::put_", "put_"},
    };
    const auto found = kernels.find(op);
    return found == kernels.end() ? nullptr : found->second;
}

const SpecialKernel* special_kernel(const std::string& name) {
    static const std::map<std::string, SpecialKernel> kernels = {
        {"aten::native_dropout", {&native_dropout, true}},
        {"aten::_thnn_fused_lstm_cell", {&fused_lstm_cell}},
        {"aten::_thnn_fused_lstm_cell_backward_impl", {&fused_lstm_cell_backward}},
        {"aten::_thnn_fused_gru_cell", {&fused_gru_cell}},
        {"aten::_thnn_fused_gru_cell_backward", {&fused_gru_cell_backward}},
        {"aten::cudnn_batch_norm", {&cudnn_batch_norm}},
        {"aten::cudnn_batch_norm_backward", {&cudnn_batch_norm_backward}},
        {"aten::_scaled_dot_product_efficient_attention", {&efficient_attention, false, {2, 3}}},
        {"aten::_scaled_dot_product_efficient_attention_backward", {&efficient_attention_backward}},
        {"aten::_scaled_dot_product_flash_attention", {&flash_attention}},
        {"aten::_scaled_dot_product_flash_attention_backward", {&flash_attention_backward}},
        {"aten::_fused_rms_norm", {&fused_rms_norm}},
        {"aten::_fused_rms_norm_backward", {&fused_rms_norm_backward}},
        {"aten::_convolution", {&convolution}},
        {"aten::convolution_backward", {&convolution_backward}},
    };
    const auto found = kernels.find(name);
    return found == kernels.end() ? nullptr : &found->second;
}

}  // namespace simgpu
