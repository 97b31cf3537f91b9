#include "core/schedule/loss_head.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/sizes.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

using Names = std::vector<std::string_view>;

const Names kProducts{"aten::mm",     "aten::addmm",  "aten::bmm", "aten::baddbmm",
                      "aten::matmul", "aten::linear", "aten::mv",  "aten::_addmm_activation"};
/// Ops that treat tokens separately. The part of the output that belongs to a token depends on this token
/// only, or it is added to the parts of other tokens.
const Names kByTokens{"aten::_to_copy",
                      "aten::clone",
                      "aten::copy_",
                      "aten::slice",
                      "aten::constant_pad_nd",
                      "aten::mul",
                      "aten::mul_",
                      "aten::div",
                      "aten::div_",
                      "aten::add",
                      "aten::add_",
                      "aten::sub",
                      "aten::sub_",
                      "aten::neg",
                      "aten::neg_",
                      "aten::tanh",
                      "aten::tanh_",
                      "aten::exp",
                      "aten::pow",
                      "aten::_log_softmax",
                      "aten::log_softmax",
                      "aten::_softmax",
                      "aten::logsumexp",
                      "aten::nll_loss_forward",
                      "aten::gather",
                      "aten::masked_fill",
                      "aten::masked_fill_",
                      "aten::where",
                      "aten::argmax",
                      "aten::sum",
                      "aten::mean",
                      "aten::nll_loss",
                      "aten::cross_entropy_loss"};
/// Ops that compute a loss that is a sum over tokens.
const Names kLosses{"aten::nll_loss_forward", "aten::nll_loss", "aten::cross_entropy_loss"};
constexpr std::int64_t kLarge = 8;  // a tensor is large if it has at least 1/8 of the bytes of the logits
constexpr std::int64_t kWorthAWord = 50;  // the head is reported if 8 chunks save at least 1/50 of the peak
                                          // without residents

bool is_one_of(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Follows the logits from the matrix product to the gradients of its operands.
class Search {
  public:
    explicit Search(const Graph& graph)
        : graph_(graph),
          producer_(producers(graph)),
          is_weight_(graph.tensors.size()),
          by_tokens_(graph.tensors.size()),
          is_result_(graph.tensors.size()) {
        for (const TensorId t : graph.results) is_result_[t] = 1;
    }

    std::optional<LossHead> find() {
        find_product();
        if (!found_.product.valid() || !follow_forward() || !follow_backward()) return std::nullopt;
        for (const TensorId t : graph_.tensors.ids())
            if (by_tokens_[t]) found_.by_tokens.push_back(t);
        return found_;
    }

  private:
    Bytes bytes_of(TensorId t) const { return graph_.tensors[t].bytes; }
    bool is_large(TensorId t) const { return bytes_of(t).value * kLarge >= logits_.value; }

    /// Finds the last matrix product of the forward pass, if it multiplies weights with one tensor made in
    /// the step and its output is larger than this tensor. Casts of weights count as weights.
    void find_product() {
        for (const TensorId t : graph_.tensors.ids())
            is_weight_[t] = !producer_[t].valid() && graph_.tensors[t].kind != TensorKind::input;
        for (const OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            if (op.phase != Phase::forward) continue;
            const auto is_weight = [this](TensorId t) { return is_weight_[t] != 0; };
            if (std::all_of(op.inputs.begin(), op.inputs.end(), is_weight))
                for (const TensorId t : op.outputs) is_weight_[t] = 1;
            if (!is_one_of(kProducts, op.name)) continue;
            std::vector<TensorId> made;
            std::copy_if(op.inputs.begin(), op.inputs.end(), std::back_inserter(made),
                         [&](TensorId t) { return !is_weight(t); });
            const bool has_weights = made.size() < op.inputs.size();
            const bool is_head = made.size() == 1 && has_weights && op.outputs.size() == 1 &&
                                 bytes_of(op.outputs[0]) > bytes_of(made[0]);
            found_.product = is_head ? id : OpId();
        }
        if (found_.product.valid()) logits_ = bytes_of(graph_.ops[found_.product].outputs[0]);
    }

    bool reads_by_tokens(const Op& op) const {
        return std::any_of(op.inputs.begin(), op.inputs.end(), [this](TensorId t) { return by_tokens_[t]; });
    }

    /// Says whether the op reads a large tensor that is not in `by_tokens_`.
    bool reads_others(const Op& op) const {
        return std::any_of(op.inputs.begin(), op.inputs.end(),
                           [this](TensorId t) { return !by_tokens_[t] && is_large(t); });
    }

    void join(const Op& op) {
        for (const TensorId t : op.outputs) by_tokens_[t] = 1;
    }

    /// Follows the ops from the logits to the loss. Returns false if an op may treat several tokens together.
    bool follow_forward() {
        join(graph_.ops[found_.product]);
        for (const OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            if (id <= found_.product || op.phase != Phase::forward || !reads_by_tokens(op)) continue;
            if (!is_one_of(kByTokens, op.name) || reads_others(op)) return false;
            found_.loss_is_inside |= is_one_of(kLosses, op.name);
            join(op);
        }
        return true;
    }

    /// Follows the ops from the loss to the gradients of the product's operands. Returns false if no such
    /// gradient is reached.
    bool follow_backward() {
        bool reaches_operand = false;
        for (const OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            if (op.phase == Phase::forward || op.phase == Phase::optimizer || !reads_by_tokens(op)) continue;
            if (op.phase == Phase::loss) {
                join_gradients(op);
            } else if (reads_operand(op) || reads_others(op) || makes_result(op)) {
                found_.sums.insert(found_.sums.end(), op.outputs.begin(), op.outputs.end());
                reaches_operand |= reads_operand(op);
                continue;
            } else {
                join(op);
            }
            found_.backward.push_back(id);
        }
        return reaches_operand;
    }

    /// Adds outputs of the caller's loss op to `by_tokens_`. The op makes the gradients of all outputs of the
    /// model. A gradient is added if the op has an input that is in `by_tokens_` and has as many bytes.
    void join_gradients(const Op& loss) {
        for (const TensorId out : loss.outputs)
            by_tokens_[out] = std::any_of(loss.inputs.begin(), loss.inputs.end(), [&](TensorId in) {
                return by_tokens_[in] && graph_.tensors[in].bytes == graph_.tensors[out].bytes;
            });
    }

    bool reads_operand(const Op& op) const {
        const std::vector<TensorId>& operands = graph_.ops[found_.product].inputs;
        return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) {
            return std::find(operands.begin(), operands.end(), t) != operands.end();
        });
    }

    bool makes_result(const Op& op) const {
        return std::any_of(op.outputs.begin(), op.outputs.end(),
                           [this](TensorId t) { return is_result_[t]; });
    }

    const Graph& graph_;
    IdVector<TensorId, OpId> producer_;
    IdVector<TensorId, char> is_weight_;  ///< whether the tensor is a weight or is made from weights only
    IdVector<TensorId, char> by_tokens_;
    IdVector<TensorId, char> is_result_;
    LossHead found_;
    Bytes logits_;
};

/// Returns the step with a smaller loss head: the bytes of the head's tensors and workspaces are divided by
/// `chunks`. If `chunks` is 0, these tensors and workspaces have no bytes at all.
FlatGraph with_chunks(const FlatGraph& flat, const LossHead& head, std::int64_t chunks) {
    const auto share = [chunks](std::int64_t bytes) {
        return chunks == 0 ? 0 : (bytes + chunks - 1) / chunks;
    };
    FlatGraph changed = flat;
    for (const TensorId t : head.by_tokens) changed.bytes[t.index()] = share(flat.bytes[t.index()]);
    for (const OpId op : head.backward) changed.workspace[op.index()] = share(flat.workspace[op.index()]);
    for (FlatGraph::Pair& pair : changed.inplace)
        pair.saved = std::min(changed.bytes[pair.out], changed.bytes[pair.in]);
    return changed;
}

/// Adds the bytes of the summed gradients, which are alive during the whole backward of a head in chunks.
void add_sums(std::vector<std::int64_t>& memory, const FlatGraph& flat, const LossHead& head) {
    std::int64_t sums = 0;
    for (const TensorId t : head.sums) sums += flat.bytes[t.index()];
    for (const OpId op : head.backward) memory[op.index()] += sums;
}

}  // namespace

std::optional<LossHead> loss_head(const Graph& graph) {
    return Search(graph).find();
}

std::optional<LossHeadMemory> loss_head_at_peak(const Graph& graph, const FlatGraph& flat) {
    std::optional<LossHead> head = loss_head(graph);
    if (!head) return std::nullopt;
    const RunSequence all = keep_all_sequence(flat);
    const std::vector<std::int64_t> memory = memory_of(flat, all);
    const std::vector<std::int64_t> without = memory_of(with_chunks(flat, *head, 0), all);
    const auto peak =
        static_cast<std::size_t>(std::max_element(memory.begin(), memory.end()) - memory.begin());
    LossHeadMemory found{.head = std::move(*head),
                         .module = graph.ops[head->product].module,
                         .needs = Bytes(memory[peak] - without[peak]),
                         .peak = Bytes(memory[peak]),
                         .in_chunks = {}};
    for (std::size_t i = 0; i < found.in_chunks.size(); ++i) {
        const int chunks = 2 << i;
        std::vector<std::int64_t> in_chunks = memory_of(with_chunks(flat, found.head, chunks), all);
        const Bytes needs(in_chunks[peak] - without[peak]);
        add_sums(in_chunks, flat, found.head);
        found.in_chunks[i] = {.chunks = chunks,
                              .needs = needs,
                              .peak = Bytes(*std::max_element(in_chunks.begin(), in_chunks.end()))};
    }
    const std::int64_t saved = found.peak.value - found.in_chunks.back().peak.value;
    if (saved * kWorthAWord < found.peak.value - flat.resident_bytes) return std::nullopt;
    return found;
}

std::string told(const LossHeadMemory& memory) {
    const auto& [two, four, eight] = memory.in_chunks;
    return "the loss head needs " + format_bytes(memory.needs) +
           " of the peak; in 8 chunks of tokens it would need " + format_bytes(eight.needs) +
           " (in 4: " + format_bytes(four.needs) + ", in 2: " + format_bytes(two.needs) + "), and the step " +
           format_bytes(eight.peak) + " in place of " + format_bytes(memory.peak) +
           (memory.head.loss_is_inside ? "" : ", where the loss is one of each token") +
           " (rematlas.chunked_loss, or chunk_loss=8 of rematlas.apply)";
}

nlohmann::json json_of(const LossHeadMemory& memory) {
    nlohmann::json chunks = nlohmann::json::array();
    for (const ChunkedLossHead& one : memory.in_chunks)
        chunks.push_back(
            {{"chunks", one.chunks}, {"bytes", one.needs.value}, {"peak_bytes", one.peak.value}});
    return {{"op", memory.head.product.value},
            {"module", memory.module},
            {"bytes", memory.needs.value},
            {"peak_bytes", memory.peak.value},
            {"loss_is_inside", memory.head.loss_is_inside},
            {"in_chunks", std::move(chunks)},
            {"text", told(memory)}};
}

}  // namespace rematlas
