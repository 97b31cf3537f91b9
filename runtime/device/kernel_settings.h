// The settings of libtorch that decide which kernels run. A step that was captured under some of them is
// another step under others.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rematlas {

struct KernelSettings {
    enum class Determinism {
        off,
        warn,
        strict
    };  ///< torch.use_deterministic_algorithms; warn: warn_only=True
    Determinism determinism = Determinism::off;
    bool cudnn = true, cudnn_benchmark = false, cudnn_deterministic = false;
    std::string matmul_fp32 = "none", convolution_fp32 = "none",
                recurrent_fp32 = "none";  ///< ieee, tf32, ...
    bool flash_attention = true, memory_efficient_attention = true, cudnn_attention = true,
         math_attention = true;
    bool operator==(const KernelSettings&) const = default;

    static KernelSettings of_process();
    /// Changes the process.
    void put_in_force() const;
    /// Every op by the kernel that gives the same bits each time; one that has none is an error.
    static KernelSettings strict();
    /// Where an op has no such kernel: what else would be chosen is switched off. Attention then takes its
    /// plain form, for the backward of the fused ones adds up in any order.
    static KernelSettings lenient();
};

/// In words, what differs; nothing when nothing does.
std::optional<std::string> difference(const KernelSettings& planned, const KernelSettings& now);

nlohmann::json to_json(const KernelSettings& settings);
/// Of what `to_json` gave; unknown keys are ignored, missing ones as by default.
KernelSettings settings_from(const nlohmann::json& object);

/// libtorch's error where a kernel that was asked for is not deterministic.
bool says_not_deterministic(const std::string& error);

}  // namespace rematlas
