#include <ATen/ops/empty.h>

#include <algorithm>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

/// Returns the bytes that oneDNN 3 keeps for an LSTM layer from the forward to the backward. Each part begins
/// on a new page. The parts are: the gates; one state per time step; three arrays of the states that layers
/// and time steps pass on, with the gradients of these states; and two arrays of cells. The formula was found
/// by measuring, and is exact for float32.
std::int64_t workspace_bytes(std::int64_t length, std::int64_t batch, std::int64_t inputs,
                             std::int64_t hidden) {
    const auto pages = [](std::int64_t floats) { return (4 * floats + 4095) / 4096 * 4096; };
    const auto row = [](std::int64_t floats) {
        const std::int64_t lines = (floats + 15) / 16 * 16;
        return lines % 256 == 0 ? lines + 16 : lines;
    };
    const std::int64_t rows = length * batch, handed_on = 2 * (length + 1) * batch;
    return pages(rows * row(4 * hidden)) + pages(rows * row(hidden)) +
           3 * pages(handed_on * row(std::max(inputs, hidden))) + 2 * pages(handed_on * hidden);
}

Four layer(const Tensor& input, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
           const Tensor& state, const Tensor& cell, bool, IntArrayRef, std::int64_t, std::int64_t hidden,
           std::int64_t, bool, bool, bool, bool train) {
    const std::int64_t bytes =
        train ? workspace_bytes(input.size(0), input.size(1), input.size(2), hidden) : 0;
    return {at::empty({input.size(0), input.size(1), hidden}, input.options()),
            at::empty(state.sizes(), state.options()), at::empty(cell.sizes(), cell.options()),
            at::empty({bytes}, input.options().dtype(c10::ScalarType::Byte))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> layer_backward(
    const Tensor& input, const Tensor& weight1, const Tensor& weight2, const Tensor& weight3,
    const Tensor& weight4, const Tensor& state, const Tensor& cell, const Tensor&, const Tensor&,
    const Tensor&, const OptionalTensor&, const OptionalTensor&, const OptionalTensor&, bool, std::int64_t,
    std::int64_t, std::int64_t, bool, bool, bool, IntArrayRef, bool, const Tensor&) {
    const auto fresh = [](const Tensor& tensor) { return at::empty(tensor.sizes(), tensor.options()); };
    return {fresh(input),   fresh(weight1), fresh(weight2), fresh(weight3),
            fresh(weight4), fresh(state),   fresh(cell)};
}

Three lstm_cell(const Tensor& gates, const Tensor&, const Tensor& cell, const OptionalTensor&,
                const OptionalTensor&) {
    return {contiguous_like(cell), contiguous_like(cell), contiguous_like(gates)};
}
Three lstm_cell_backward(const OptionalTensor&, const OptionalTensor&, const Tensor& cell, const Tensor&,
                         const Tensor& workspace, bool has_bias) {
    return {contiguous_like(workspace), contiguous_like(cell),
            has_bias ? at::empty({workspace.size(1)}, workspace.options()) : Tensor()};
}
Two gru_cell(const Tensor&, const Tensor&, const Tensor& state, const OptionalTensor&,
             const OptionalTensor&) {
    return {contiguous_like(state), at::empty({state.size(0), 5 * state.size(1)}, state.options())};
}

}  // namespace

void add_recurrent(Libraries& libraries) {
    add(libraries, "mkldnn_rnn_layer", &layer);
    add(libraries, "mkldnn_rnn_layer_backward", &layer_backward);
    add(libraries, "_thnn_fused_lstm_cell", &lstm_cell);
    add(libraries, "_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
    add(libraries, "_thnn_fused_gru_cell", &gru_cell);
}

}  // namespace rematlas::meta
