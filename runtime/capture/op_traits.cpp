#include "runtime/capture/op_traits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace rematlas {
namespace {

struct HiddenUpdate {
    std::string_view op;
    std::size_t first, last;  ///< positions of the arguments that are written
    HiddenWrite kind = HiddenWrite::statistics;
    int training = -1;  ///< position of the flag that says whether the call trains; -1: all calls do
};
constexpr std::array<HiddenUpdate, 9> hidden_updates{{
    {"aten::native_batch_norm", 3, 4, HiddenWrite::statistics, 5},
    {"aten::_native_batch_norm_legit", 3, 4, HiddenWrite::statistics, 5},
    {"aten::cudnn_batch_norm", 3, 4, HiddenWrite::statistics, 5},
    {"aten::miopen_batch_norm", 3, 4, HiddenWrite::statistics, 5},
    {"aten::batch_norm_update_stats", 1, 2},
    {"aten::batch_norm_gather_stats", 3, 4},
    {"aten::batch_norm_gather_stats_with_counts", 3, 4},
    {"aten::_batch_norm_with_update", 3, 4},
    {"aten::mkldnn_rnn_layer_backward", 22, 22, HiddenWrite::contents},  // writes the forward op's workspace
}};

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Says whether kernels use the tensor without a copy. If a tensor on a GPU is not contiguous, a kernel first
/// copies it, and so reads its contents.
bool lies_as_kernels_take_it(const c10::IValue& value) {
    if (!value.isTensor() || value.toTensor().device().is_cpu()) return true;
    const at::Tensor& tensor = value.toTensor();
    return tensor.is_contiguous(tensor.suggest_memory_format());
}

}  // namespace

HiddenWrite hidden_write(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                         std::size_t base) {
    for (const HiddenUpdate& update : hidden_updates) {
        if (update.op != op || index < update.first || index > update.last) continue;
        const bool trains = update.training < 0 || (stack[base + update.training].isBool() &&
                                                    stack[base + update.training].toBool());
        if (trains) return update.kind;
    }
    return HiddenWrite::none;
}

bool may_write_hidden(const std::string& op) {
    return std::any_of(hidden_updates.begin(), hidden_updates.end(),
                       [&](const HiddenUpdate& update) { return update.op == op; });
}

bool ignores_contents(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                      std::size_t base) {
    static constexpr std::array<std::string_view, 12> shaped_like_first{
        "aten::empty_like", "aten::zeros_like", "aten::ones_like", "aten::full_like",
        "aten::rand_like",  "aten::randn_like", "aten::new_empty", "aten::randint_like",
        "aten::new_zeros",  "aten::new_ones",   "aten::new_full",  "aten::new_empty_strided"};
    static constexpr std::array<std::string_view, 5> pooling{
        "aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward",
        "aten::avg_pool2d_backward", "aten::_adaptive_avg_pool2d_backward", "aten::avg_pool3d_backward"};
    if (index == 0) return contains(shaped_like_first, op);
    if (index == 1) return contains(pooling, op) && lies_as_kernels_take_it(stack[base + 1]);
    // The backwards of batch norms take the running statistics, but do not read them in training.
    const bool statistics = index == 3 || index == 4;
    if (!statistics) return false;
    if (op == "aten::cudnn_batch_norm_backward" || op == "aten::miopen_batch_norm_backward") return true;
    return op == "aten::native_batch_norm_backward" && stack[base + 7].isBool() && stack[base + 7].toBool();
}

bool overwrites_everything(const std::string& name, const std::string& overload) {
    static constexpr std::array<std::string_view, 12> names{
        "aten::rrelu_with_noise", "aten::copy_",      "aten::fill_",       "aten::zero_",
        "aten::normal_",          "aten::uniform_",   "aten::bernoulli_",  "aten::random_",
        "aten::exponential_",     "aten::geometric_", "aten::log_normal_", "aten::cauchy_"};
    return contains(names, name) || overload.find("out") != overload.npos;
}

bool makes_views(const c10::FunctionSchema& schema) {
    const auto& returns = schema.returns();
    return !returns.empty() && std::all_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
        return result.alias_info() && !result.alias_info()->isWrite();
    });
}

bool changes_only_geometry(const c10::OperatorHandle& op) {
    static constexpr std::array<std::string_view, 3> take_memory{"aten::set_", "aten::resize_",
                                                                 "aten::resize_as_"};
    return op.hasTag(at::Tag::inplace_view) && !contains(take_memory, op.schema().name());
}

bool makes_uninitialized(const std::string& name) {
    static constexpr std::array<std::string_view, 5> names{"aten::empty", "aten::empty_like",
                                                           "aten::empty_strided", "aten::new_empty",
                                                           "aten::new_empty_strided"};
    return contains(names, name);
}

bool shape_depends_on_values(const std::string& name) {
    static constexpr std::array<std::string_view, 10> names{"aten::nonzero",
                                                            "aten::_pack_padded_sequence",
                                                            "aten::masked_select",
                                                            "aten::_unique",
                                                            "aten::_unique2",
                                                            "aten::unique_dim",
                                                            "aten::unique_consecutive",
                                                            "aten::unique_dim_consecutive",
                                                            "aten::repeat_interleave",
                                                            "aten::bincount"};
    return contains(names, name);
}

bool draws_by_values(const std::string& name) {
    static constexpr std::array<std::string_view, 7> names{
        "aten::rrelu_with_noise", "aten::rrelu_with_noise_", "aten::rrelu_with_noise_functional",
        "aten::poisson",          "aten::binomial",          "aten::_standard_gamma",
        "aten::_sample_dirichlet"};
    return contains(names, name);
}

std::uint64_t digest_of(const void* memory, std::size_t bytes) {
    const auto* data = static_cast<const unsigned char*>(memory);
    std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
    std::size_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
        std::array<std::uint64_t, 4> words;
        std::memcpy(words.data(), data + i, 32);
        for (int k = 0; k < 4; ++k)
            lanes[k] = (lanes[k] ^ words[k]) * 0x9e3779b97f4a7c15ULL + (lanes[k] >> 29);
    }
    for (; i < bytes; ++i) lanes[0] = (lanes[0] ^ data[i]) * 0x100000001b3ULL;
    return lanes[0] ^ lanes[1] * 3 ^ lanes[2] * 5 ^ lanes[3] * 7;
}

}  // namespace rematlas
